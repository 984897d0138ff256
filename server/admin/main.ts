import { ConfigError, readConfig } from '../config.ts'
import { openBeside } from '../db/orm.ts'
import { makeOwner, type Operation, resetPassword } from './commands.ts'

const usage = `Usage: npm run admin -- <command> <e-mail address>

  reset-password  Prints a new one-time password and ends the person's sessions.
  make-owner      Makes the person the owner; the owner so far becomes an administrator.

Run it where the server runs, with the same settings. The server may keep running.`

const commands: Record<string, (operation: Operation, email: string) => Promise<string>> = {
  'reset-password': resetPassword,
  'make-owner': makeOwner,
}

// Exit codes of sysexits.h: EX_USAGE, EX_CONFIG; 1 when the command failed.
process.exitCode = await main(process.argv.slice(2))

async function main([name = '', email, ...rest]: string[]): Promise<number> {
  if (['help', '--help', '-h'].includes(name)) return say(usage)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command || !email || rest.length) return complain(usage, 64)
  try {
    return say(await run(command, email))
  } catch (error) {
    if (error instanceof ConfigError) return complain(error.problems.join('\n'), 78)
    return complain(error instanceof Error ? error.message || String(error) : String(error), 1)
  }
}

async function run(command: (operation: Operation, email: string) => Promise<string>, email: string): Promise<string> {
  const config = readConfig()
  const orm = await openBeside(config)
  try {
    return await command({ em: orm.em.fork(), config }, email)
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
