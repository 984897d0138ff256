import { forgetServerAddress, listServerAddresses, rememberServerAddress } from './addresses.ts'
import { backup, restore } from './backup.ts'
import { checkArchives } from './check-archives.ts'
import { type Command, textIn } from './command.ts'
import { importAdvisoryFile, importSdkFile, makeOwner, resetPassword } from './commands.ts'
import { doctor } from './doctor.ts'
import { move } from './move-blobs.ts'
import { moveToPostgres } from './move-database.ts'
import { reindex } from './reindex.ts'
import { adopt, collect, restoreArchive } from './store-commands.ts'
import { listAccessTokens, revokeAccessToken } from './tokens.ts'
import { changeRole, createAccount, listAccounts, setActive } from './users.ts'
import { verify } from './verify.ts'
import { verifyAudit } from './verify-audit.ts'

const looking: Command[] = [
  {
    name: 'doctor',
    about:
      'Checks everything that the server needs: settings, database, storage, archives known to be damaged, failed jobs, backups, address, clocks, space, versions, SDKs.',
    options: {
      quick: { about: 'Skips checks that read the whole database.' },
      settings: { about: 'Also prints the effective settings, with secrets masked.' },
    },
    examples: ['doctor', 'doctor --quick --json'],
    runAnywhere: (environment, _values, options) =>
      doctor(environment, { quick: options['quick'] === true, withSettings: options['settings'] === true }),
  },
  {
    name: 'check-integrity',
    about: 'Checks all stored archives and reports missing, damaged and orphaned files.',
    examples: ['check-integrity'],
    run: checkArchives,
  },
  {
    name: 'verify',
    values: '[<place>]',
    about: 'Verifies the backups in a folder or bucket, or all data of the server, and reports missing and damaged files.',
    examples: ['verify --json', 'verify /srv/backups'],
    runAlone: (config, [place]) => verify(config, place),
  },
  {
    name: 'verify-audit',
    values: '[<hash>]',
    about: 'Verifies the audit log against its hash chain. With a hash from the server log, also checks that the chain contains it.',
    examples: ['verify-audit'],
    run: (operation, [known]) => verifyAudit(operation, known),
  },
]

const people: Command[] = [
  {
    name: 'users',
    about: 'Lists accounts with their role, status and last sign-in.',
    options: { role: { value: '<role>', about: 'Filters by role: viewer, member, admin or owner.' } },
    examples: ['users', 'users --role admin --json'],
    run: (operation, _values, options) => listAccounts(operation, textIn(options, 'role')),
  },
  {
    name: 'create-user',
    values: '<email>',
    about: 'Creates an account and prints a one-time password. The role owner is allowed only if there is no owner.',
    options: {
      name: { value: '<name>', about: 'Display name. Default: the local part of the e-mail address.' },
      role: { value: '<role>', about: 'Role: viewer, member (default), admin or owner.' },
    },
    examples: ['create-user ada@example.com --name "Ada Lovelace" --role admin'],
    run: (operation, [email], options) => createAccount(operation, { email, name: textIn(options, 'name'), role: textIn(options, 'role') }),
  },
  {
    name: 'reset-password',
    values: '<email>',
    about: 'Sets and prints a new one-time password and ends all sessions of the account.',
    examples: ['reset-password ada@example.com'],
    run: (operation, [email]) => resetPassword(operation, email),
  },
  {
    name: 'make-owner',
    values: '<email>',
    about: 'Transfers the ownership to an account. The previous owner becomes an administrator.',
    examples: ['make-owner ada@example.com'],
    run: (operation, [email]) => makeOwner(operation, email),
  },
  {
    name: 'change-role',
    values: '<email> <role>',
    about: 'Changes the role of an account to viewer, member or admin. Not possible for the owner.',
    examples: ['change-role ada@example.com member'],
    run: (operation, [email, role]) => changeRole(operation, email, role),
  },
  {
    name: 'disable-user',
    values: '<email>',
    about: 'Disables an account: ends its sessions and blocks its access tokens. Not possible for the owner.',
    examples: ['disable-user ada@example.com'],
    run: (operation, [email]) => setActive(operation, email, false),
  },
  {
    name: 'enable-user',
    values: '<email>',
    about: 'Enables a disabled account and its access tokens again.',
    examples: ['enable-user ada@example.com'],
    run: (operation, [email]) => setActive(operation, email, true),
  },
  {
    name: 'tokens',
    values: '[<email>]',
    about: 'Lists the access tokens of all accounts or of one account, without secrets.',
    examples: ['tokens', 'tokens ada@example.com --json'],
    run: (operation, [email]) => listAccessTokens(operation, email),
  },
  {
    name: 'revoke-token',
    values: '<id>',
    about: 'Revokes an access token and all tokens created with it. Use the id that the command tokens prints.',
    examples: ['revoke-token 019aa7c4-5f0e-7c3a-9d61-2f6c1f0b8e11'],
    run: (operation, [id]) => revokeAccessToken(operation, id),
  },
]

const backups: Command[] = [
  {
    name: 'backup',
    values: '<place>',
    about: 'Backs up all data to a folder or bucket. Archives stored by earlier backups there are not copied again.',
    examples: ['backup /srv/backups', 'backup s3://company-backups/snug'],
    run: (operation, [place]) => backup(operation, place),
  },
  {
    name: 'restore',
    values: '<place> [<backup>]',
    about: 'Restores the newest or the given backup from a folder or bucket into an empty database and an empty store.',
    examples: ['restore /srv/backups', 'restore s3://company-backups/snug 20261122T031500000Z'],
    runAlone: (config, [place, id]) => restore(config, place, id),
  },
]

const storage: Command[] = [
  {
    name: 'reindex',
    about: 'Rebuilds the search index of all packages. Can be interrupted and run again.',
    examples: ['reindex'],
    run: reindex,
  },
  {
    name: 'collect',
    about: 'Removes orphaned archives. Removing a large number requires --confirm.',
    options: {
      'dry-run': { about: 'Only lists the archives.' },
      confirm: { about: 'Allows removing any number of archives.' },
    },
    examples: ['collect --dry-run', 'collect --confirm'],
    run: (operation, _values, options) =>
      collect(operation, { dryRun: options['dry-run'] === true, confirmed: options['confirm'] === true }),
  },
  {
    name: 'restore-archive',
    values: '<archive> [<version>]',
    about: 'Restores an archive removed in the last 7 days, given by its SHA-256 or by package and version.',
    examples: ['restore-archive acme 1.0.0'],
    run: (operation, [archive, version]) => restoreArchive(operation, archive, version),
  },
  {
    name: 'move-blobs',
    values: '<store>',
    about: 'Copies all archives to the configured bucket (s3) or folder (filesystem). Can be interrupted and run again.',
    examples: ['move-blobs s3', 'move-blobs filesystem'],
    run: (operation, [kind]) => move(operation, kind),
  },
  {
    name: 'move-database',
    values: '[<url>]',
    about: 'Moves all data from SQLite to an empty PostgreSQL database (default: POSTGRES_URL). Can be interrupted and run again.',
    details:
      'The server may be running. The move may take some minutes. During and after it, the server answers reads as usual and rejects changes with ' +
      'status 503. Afterwards restart it with DB_BACKEND=postgres and POSTGRES_URL.',
    examples: ['move-database postgres://snug:password@localhost:5432/snug'],
    runAlone: (config, [url]) => moveToPostgres(config, url),
  },
  {
    name: 'adopt-store',
    about: 'Links the archive store to the database if the server reports that they do not belong together.',
    examples: ['adopt-store'],
    run: adopt,
    migrates: true,
  },
]

const content: Command[] = [
  {
    name: 'import-advisories',
    values: '<file>',
    about: 'Imports security advisories from a file in OSV format: one or a list.',
    examples: ['import-advisories advisories.json'],
    run: (operation, [path]) => importAdvisoryFile(operation, path),
  },
  {
    name: 'import-sdk',
    values: '<file>',
    about: 'Installs an SDK from a local archive of Dart (.zip) or Flutter (.tar.xz, .zip).',
    examples: ['import-sdk dartsdk-linux-x64-release.zip'],
    run: (operation, [path]) => importSdkFile(operation, path),
  },
  {
    name: 'list-addresses',
    about: 'Prints the addresses that count as this server in dependencies and publish_to.',
    examples: ['list-addresses'],
    run: listServerAddresses,
  },
  {
    name: 'remember-address',
    values: '<url>',
    about: 'Adds a former address of the server.',
    examples: ['remember-address https://pub.example.com'],
    run: (operation, [url = '']) => rememberServerAddress(operation, url),
  },
  {
    name: 'forget-address',
    values: '<url>',
    about: 'Removes a former address. Dependencies on it then refer to another server.',
    examples: ['forget-address https://pub.example.com'],
    run: (operation, [url = '']) => forgetServerAddress(operation, url),
  },
]

/** All admin commands, grouped by the titles in the help. */
export const commandGroups: Record<string, readonly Command[]> = {
  Diagnostics: looking,
  People: people,
  'Packages, SDKs and addresses': content,
  'Search index and storage': storage,
  'Backup and restore': backups,
}

/** All admin commands by name. */
export const commands: ReadonlyMap<string, Command> = new Map(
  Object.values(commandGroups).flatMap((group) => group.map((command) => [command.name, command])),
)
