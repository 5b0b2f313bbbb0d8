"""The command line.

`options.py` has the commands and their options. `request.py` applies them to the configuration;
the `Request` that it makes says for each file which codes and which configuration apply.
`check.py` runs a check or applies fixes, `report.py` writes the result, and `commands.py` hands
over to the other features. The table of configuration keys is `tpulint/config/keys.json`: the
readers, `tpulint config`, the JSON schema and docs/configuration.md are made from it.
"""
