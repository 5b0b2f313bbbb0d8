"""The command line.

`options.py` has the commands, `check_options.py` the options of `check`. `overrides.py` lays them
over the configuration, and both meet in a `Request`, which answers for any file which codes and
which configuration apply. `report.py` and `fixing.py` print or apply the result. The table of
configuration keys is `tpulint/config/keys.py`: the readers, `tpulint config`, the JSON schema and
docs/configuration.md are made from it.
"""
