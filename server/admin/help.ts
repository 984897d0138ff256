import { adminCommand } from '../version.ts'
import type { Command, Help, Option } from './command.ts'

/** Options that every command has. */
export const commonOptions: Record<string, Option> = {
  json: { about: 'Prints one JSON object; whatever else there is to say goes to stderr.' },
  help: { about: 'Prints how the command is used.' },
}

/** A command with all that follows it. */
export const usageOf = ({ name, values, options = {} }: Help): string =>
  [name, values, ...Object.entries(options).map(([option, { value }]) => `[--${option}${value ? ` ${value}` : ''}]`)]
    .filter(Boolean)
    .join(' ')

/** The list of all commands, in groups with a title. */
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
    `How a command is used: ${adminCommand} <command> --help`,
    '',
    'Run it where the server runs, with the same settings. The server may be running, except for adopt-store and restore.',
    'Exit codes: 0 all is well, 1 the command failed or found something wrong, 2 wrong usage or a value that cannot be used, 78 the settings cannot be used.',
  ].join('\n')
}

/** How one command is used. */
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
