"use strict";

/**
 * Return the command that starts the server, and its arguments.
 *
 * The interpreter of the settings counts; else that of the Python extension; else `tpulint` on the
 * path.
 */
function serverCommand(configured, interpreter) {
  const python = configured || interpreter;
  return python
    ? { command: python, args: ["-m", "tpulint", "server"] }
    : { command: "tpulint", args: ["server"] };
}

/** Return the settings as the server takes them; what is empty is left to its files. */
function serverSettings(configuration) {
  const settings = {};
  for (const key of ["certainty", "codeLens", "inlayHints"]) {
    const value = configuration.get(key);
    if (value !== undefined && value !== "") settings[key] = value;
  }
  return settings;
}

module.exports = { serverCommand, serverSettings };
