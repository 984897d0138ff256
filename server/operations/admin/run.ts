import { parseArgs } from 'node:util'
import { type Config, ConfigError, readConfig } from '../../platform/config/config.ts'
import { openUnlocked, openDatabase } from '../../platform/db/open/orm.ts'
import { ApiError, causeOf } from '../../errors.ts'
import { adminCommand } from '../../platform/config/version.ts'
import { type Command, countsOf, type Options, type Outcome, type Help, type Option } from './command.ts'
import { commandGroups, commands } from './registry.ts'

/** Output streams of a command, and its environment variables (default: those of the process). */
type Surroundings = { out: (text: string) => void; err: (text: string) => void; environment?: NodeJS.ProcessEnv }

/** Exit codes. `usage` also covers invalid values; `config` is EX_CONFIG of sysexits.h, as for the server itself. */
const codes = { fine: 0, wrong: 1, usage: 2, config: 78 }

/** Runs the command given by the arguments after `admin`. Returns the exit code. */
export async function runAdmin([name = '', ...words]: string[], { out, err, environment }: Surroundings): Promise<number> {
  if (['help', '--help', '-h'].includes(name)) return helpFor(words[0], { out, err })
  const command = commands.get(name)
  if (!command) return printUsageError(err, name && `Unknown command "${name}".`, listOfCommands(commandGroups))
  const given = parse(command, words)
  if (typeof given === 'string') return printUsageError(err, given, helpOf(command))
  if (given.options['help'] === true) return (out(helpOf(command)), codes.fine)
  const asJson = given.options['json'] === true
  try {
    const outcome = await execute(command, given, environment)
    const { text, data, ok = true } = typeof outcome === 'string' ? { text: outcome, data: { message: outcome } } : outcome
    out(asJson ? JSON.stringify({ ok, ...data }) : text)
    return ok ? codes.fine : codes.wrong
  } catch (error) {
    const message = messageOf(error)
    if (asJson) out(JSON.stringify({ ok: false, error: { code: codeOf(error), message } }))
    err(message)
    return codeAfter(error, command)
  }
}

function helpFor(name: string | undefined, { out, err }: Pick<Surroundings, 'out' | 'err'>): number {
  const command = commands.get(name ?? '')
  if (name !== undefined && !command) return printUsageError(err, `Unknown command "${name}".`, listOfCommands(commandGroups))
  out(command ? helpOf(command) : listOfCommands(commandGroups))
  return codes.fine
}

function printUsageError(err: Surroundings['err'], why: string, usage: string): number {
  err(why ? `${why}\n\n${usage}` : usage)
  return codes.usage
}

type Given = { values: string[]; options: Options }

/** Parses arguments into values and options. Returns an error message for invalid arguments. */
function parse(command: Command, words: string[]): Given | string {
  const known = Object.entries({ ...command.options, ...commonOptions }).map(
    ([name, { value }]): [string, { type: 'string' | 'boolean' }] => [name, { type: value ? 'string' : 'boolean' }],
  )
  const { fewest, greatest } = countsOf(command)
  try {
    const parsed = parseArgs({ args: words, options: Object.fromEntries(known), allowPositionals: true })
    const options: Options = Object.fromEntries(
      Object.entries(parsed.values).map(([name, value]) => [name, value === true || String(value)]),
    )
    const values = parsed.positionals
    if (options['help'] === undefined && (values.length < fewest || values.length > greatest || values.includes('')))
      return `Wrong number of values: ${adminCommand} ${usageOf(command)}`
    return { values, options }
  } catch (error) {
    // Node's first sentence describes the problem. The rest is about file names that begin with a dash.
    return `${messageOf(error).split('. ')[0]?.replace(/\.$/, '')}.`
  }
}

async function execute(command: Command, { values, options }: Given, environment?: NodeJS.ProcessEnv): Promise<string | Outcome> {
  if ('runAnywhere' in command) return command.runAnywhere(environment, values, options)
  const config = readConfig(environment)
  if ('runAlone' in command) return command.runAlone(config, values, options)
  const { em, close } = command.migrates ? await openAlone(config) : await openWithServer(config)
  try {
    return await command.run({ em, config }, values, options)
  } finally {
    await close()
  }
}

async function openAlone(config: Config) {
  const database = await openDatabase(config)
  return { em: database.fork(), close: () => database.close() }
}

async function openWithServer(config: Config) {
  const orm = await openUnlocked(config)
  return { em: orm.em.fork(), close: () => orm.close(true) }
}

function codeAfter(error: unknown, { values }: Command): number {
  if (error instanceof ConfigError) return codes.config
  // Invalid contents of a given file are not a usage error.
  const isUsage = error instanceof ApiError && error.code === 'InvalidInput' && values !== '<file>'
  return isUsage ? codes.usage : codes.wrong
}

function messageOf(error: unknown): string {
  const [message, cause] = [error instanceof Error ? error.message || String(error) : String(error), causeOf(error)]
  return cause === error ? message : `${message} (${String(cause)})`
}

function codeOf(error: unknown): string {
  if (error instanceof ConfigError) return 'InvalidConfiguration'
  return error instanceof ApiError ? error.code : 'InternalError'
}

/** Options that every command supports. */
const commonOptions: Record<string, Option> = {
  json: { about: 'Prints the result as one JSON object; progress and errors go to stderr.' },
  help: { about: 'Prints this help.' },
}

/** Returns the usage line of a command: its name, arguments and options. */
const usageOf = ({ name, values, options = {} }: Help): string =>
  [name, values, ...Object.entries(options).map(([option, { value }]) => `[--${option}${value ? ` ${value}` : ''}]`)]
    .filter(Boolean)
    .join(' ')

/** Formats the list of all commands in titled groups. */
function listOfCommands(groups: Record<string, readonly Command[]>): string {
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
function helpOf(command: Command): string {
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
