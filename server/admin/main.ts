import { ConfigError, readConfig } from '../config.ts'
import { openBeside } from '../db/orm.ts'
import { importAdvisoryFile, makeOwner, type Operation, resetPassword } from './commands.ts'

const usage = `Usage: npm run admin -- <command> <argument>

  reset-password <e-mail address>  Prints a new one-time password and ends the person's sessions.
  make-owner <e-mail address>      Makes the person the owner; the owner so far becomes an administrator.
  import-advisories <file>         Keeps the security advisories of a file: one in OSV form, or a list of them.

Run it where the server runs, with the same settings. The server may keep running.`

const commands: Record<string, (operation: Operation, argument: string) => Promise<string>> = {
  'reset-password': resetPassword,
  'make-owner': makeOwner,
  'import-advisories': importAdvisoryFile,
}

// Exit codes of sysexits.h: EX_USAGE, EX_CONFIG; 1 when the command failed.
process.exitCode = await main(process.argv.slice(2))

async function main([name = '', argument, ...rest]: string[]): Promise<number> {
  if (['help', '--help', '-h'].includes(name)) return say(usage)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command || !argument || rest.length) return complain(usage, 64)
  try {
    return say(await run(command, argument))
  } catch (error) {
    if (error instanceof ConfigError) return complain(error.problems.join('\n'), 78)
    return complain(error instanceof Error ? error.message || String(error) : String(error), 1)
  }
}

async function run(command: (operation: Operation, argument: string) => Promise<string>, argument: string): Promise<string> {
  const config = readConfig()
  const orm = await openBeside(config)
  try {
    return await command({ em: orm.em.fork(), config }, argument)
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
