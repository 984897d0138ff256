import { ConfigError, readConfig } from '../config.ts'
import { openBeside } from '../db/orm.ts'
import { checkArchives } from './check-archives.ts'
import { importAdvisoryFile, makeOwner, type Operation, resetPassword } from './commands.ts'

const usage = `Usage: npm run admin -- <command>

  reset-password <e-mail address>  Prints a new one-time password and ends the person's sessions.
  make-owner <e-mail address>      Makes the person the owner; the owner so far becomes an administrator.
  import-advisories <file>         Keeps the security advisories of a file: one in OSV form, or a list of them.
  check-integrity                  Reads all stored archives and reports what is missing, damaged or nobody's.

Run it where the server runs, with the same settings. The server may keep running.`

type Command = { takes: number; run: (operation: Operation, ...values: [string]) => Promise<string> }

const commands: Record<string, Command> = {
  'reset-password': { takes: 1, run: resetPassword },
  'make-owner': { takes: 1, run: makeOwner },
  'import-advisories': { takes: 1, run: importAdvisoryFile },
  'check-integrity': { takes: 0, run: checkArchives },
}

// Exit codes of sysexits.h: EX_USAGE, EX_CONFIG; 1 when the command failed.
process.exitCode = await main(process.argv.slice(2))

async function main([name = '', ...values]: string[]): Promise<number> {
  if (['help', '--help', '-h'].includes(name)) return say(usage)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command || values.length !== command.takes || values.includes('')) return complain(usage, 64)
  try {
    return say(await run(command, values[0] ?? ''))
  } catch (error) {
    if (error instanceof ConfigError) return complain(error.problems.join('\n'), 78)
    return complain(error instanceof Error ? error.message || String(error) : String(error), 1)
  }
}

async function run(command: Command, value: string): Promise<string> {
  const config = readConfig()
  const orm = await openBeside(config)
  try {
    return await command.run({ em: orm.em.fork(), config }, value)
  } finally {
    await orm.close(true)
  }
}

function say(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}

function complain(text: string, code: number): number {
  process.stderr.write(`${text}\n`)
  return code
}
