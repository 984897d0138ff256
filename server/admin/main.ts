import { type Config, ConfigError, readConfig } from '../config/config.ts'
import { openBeside, openDatabase } from '../db/orm.ts'
import { forgetServerAddress, listServerAddresses, rememberServerAddress } from './addresses.ts'
import { backup, restore } from './backup.ts'
import { checkArchives } from './check-archives.ts'
import { importSdkFile } from './import-sdk.ts'
import { importAdvisoryFile, makeOwner, type Operation, type Outcome, resetPassword } from './commands.ts'
import { move } from './move-blobs.ts'
import { adopt, collect, restoreArchive } from './store-commands.ts'
import { verify } from './verify.ts'
import { adminCommand } from '../version.ts'
import { verifyAudit } from './verify-audit.ts'

const usage = `Usage: ${adminCommand} <command>

  reset-password <e-mail address>  Prints a new one-time password and ends the person's sessions.
  make-owner <e-mail address>      Makes the person the owner; the owner so far becomes an administrator.
  import-advisories <file>         Keeps the security advisories of a file: one in OSV form, or a list of them.
  import-sdk <file>                Installs an SDK from an archive on this machine: of Dart (.zip) or Flutter (.tar.xz, .zip).
  check-integrity                  Reads all stored archives and reports what is missing, damaged or nobody's.
  verify-audit [hash]              Compares the audit log with its hash chain, in which a hash that the log told before has to be.
  list-addresses                   Prints the addresses that count as this server in dependencies and publish_to.
  remember-address <URL>           Adds an address that the server had before.
  forget-address <URL>             Removes one: what names it is on another server from then on.
  collect [--dry-run|--confirm]    Removes archives that no version names: lists them only, or removes them however many they are.
  restore-archive <archive>        Puts a removed archive back: its SHA-256, or package and version. Possible for 7 days.
  move-blobs <s3|filesystem>       Copies all archives to the bucket, or the folder, of the settings. May be ended and begun again.
  backup <folder>                  Backs everything up into a folder; what an earlier backup in it has is not copied again.
  restore <folder> [<backup>]      Restores the newest backup of a folder, or another one, into an empty database and an empty store.
  verify [<folder>] [--json]       Reads the backups of a folder, or all that the server keeps, and reports what is missing or damaged.
  adopt-store                      Ties the archive store to the database, when the server says that they do not belong together.

Run it where the server runs, with the same settings. The server may keep running, except for adopt-store; restore needs an empty place.`

type Command = {
  /** The fewest and the greatest number of arguments. */
  takes: [fewest: number, greatest: number]
  run: (operation: Operation, ...values: string[]) => Promise<string>
  /** Whether it brings the schema up to date, which needs the server to be stopped. */
  migrates?: boolean
}
/** A command for a place that may have no database yet. */
type CommandAlone = Pick<Command, 'takes'> & { runAlone: (config: Config, ...values: string[]) => Promise<string | Outcome> }

const commands: Record<string, Command | CommandAlone> = {
  'reset-password': { takes: [1, 1], run: resetPassword },
  'make-owner': { takes: [1, 1], run: makeOwner },
  'import-advisories': { takes: [1, 1], run: importAdvisoryFile },
  'import-sdk': { takes: [1, 1], run: importSdkFile },
  'check-integrity': { takes: [0, 0], run: checkArchives },
  'verify-audit': { takes: [0, 1], run: verifyAudit },
  'list-addresses': { takes: [0, 0], run: listServerAddresses },
  'remember-address': { takes: [1, 1], run: rememberServerAddress },
  'forget-address': { takes: [1, 1], run: forgetServerAddress },
  collect: { takes: [0, 1], run: collect },
  'restore-archive': { takes: [1, 2], run: restoreArchive },
  'move-blobs': { takes: [1, 1], run: (operation, kind) => move(operation, kind) },
  backup: { takes: [1, 1], run: backup },
  restore: { takes: [1, 2], runAlone: restore },
  verify: { takes: [0, 2], runAlone: verify },
  'adopt-store': { takes: [0, 0], run: adopt, migrates: true },
}

// Exit codes of sysexits.h: EX_USAGE, EX_CONFIG; 1 when the command failed.
process.exitCode = await main(process.argv.slice(2))

async function main([name = '', ...values]: string[]): Promise<number> {
  if (['help', '--help', '-h'].includes(name)) return say(usage)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command || !hasEnough(command, values) || values.includes('')) return complain(usage, 64)
  try {
    const told = await run(command, values)
    if (typeof told === 'string') return say(told)
    say(told.text)
    return told.code
  } catch (error) {
    if (error instanceof ConfigError) return complain(error.problems.join('\n'), 78)
    return complain(error instanceof Error ? error.message || String(error) : String(error), 1)
  }
}

function hasEnough({ takes: [fewest, greatest] }: Pick<Command, 'takes'>, values: string[]): boolean {
  return values.length >= fewest && values.length <= greatest
}

async function run(command: Command | CommandAlone, values: string[]): Promise<string | Outcome> {
  const config = readConfig()
  if ('runAlone' in command) return command.runAlone(config, ...values)
  const { em, close } = command.migrates ? await openAlone(config) : await openWithServer(config)
  try {
    return await command.run({ em, config }, ...values)
  } finally {
    await close()
  }
}

async function openAlone(config: Config) {
  const database = await openDatabase(config)
  return { em: database.fork(), close: () => database.close() }
}

async function openWithServer(config: Config) {
  const orm = await openBeside(config)
  return { em: orm.em.fork(), close: () => orm.close(true) }
}

function say(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}

function complain(text: string, code: number): number {
  process.stderr.write(`${text}\n`)
  return code
}
