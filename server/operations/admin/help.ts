import { adminCommand } from '../../platform/config/version.ts'
import type { Command, Help, Option } from './command.ts'

/** Options that every command supports. */
export const commonOptions: Record<string, Option> = {
  json: { about: 'Prints the result as one JSON object; progress and errors go to stderr.' },
  help: { about: 'Prints this help.' },
}

/** Returns the usage line of a command: its name, arguments and options. */
export const usageOf = ({ name, values, options = {} }: Help): string =>
  [name, values, ...Object.entries(options).map(([option, { value }]) => `[--${option}${value ? ` ${value}` : ''}]`)]
    .filter(Boolean)
    .join(' ')

/** Formats the list of all commands in titled groups. */
export function listOfCommands(groups: Record<string, readonly Command[]>): string {
  const lines = Object.entries(groups).flatMap(([title, commands]) => [
    '',
    `${title}:`,
    ...aligned(commands.map(({ name, values, about }) => [[name, values].filter(Boolean).join(' '), about])),
  ])
  return [
    `Usage: ${adminCommand} <command> [--json]`,
    ...lines,
    '',
    `Help for a command: ${adminCommand} <command> --help`,
    '',
    'Run it where the server runs, with the same settings. The server may be running, except for adopt-store and restore.',
    'Exit codes: 0 success, 1 the command failed or found a problem, 2 wrong usage or invalid value, 78 invalid settings.',
  ].join('\n')
}

/** Formats the help text of a command for `--help`. */
export function helpOf(command: Command): string {
  const options = Object.entries({ ...command.options, ...commonOptions })
  return [
    `Usage: ${adminCommand} ${usageOf(command)}`,
    '',
    command.about,
    ...(command.details ? ['', command.details] : []),
    '',
    'Options:',
    ...aligned(options.map(([name, { value, about }]) => [`--${name}${value ? ` ${value}` : ''}`, about])),
    '',
    command.examples.length === 1 ? 'Example:' : 'Examples:',
    ...command.examples.map((example) => `  ${adminCommand} ${example}`),
  ].join('\n')
}

function aligned(rows: [left: string, right: string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
