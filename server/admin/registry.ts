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
      quick: { about: 'Leaves out what reads the whole database.' },
      settings: { about: 'Prints the settings as the server takes them, too, without secrets.' },
    },
    examples: ['doctor', 'doctor --quick --json'],
    runAnywhere: (environment, _values, options) =>
      doctor(environment, { quick: options['quick'] === true, withSettings: options['settings'] === true }),
  },
  {
    name: 'check-integrity',
    about: "Reads all stored archives and reports what is missing, damaged or nobody's.",
    examples: ['check-integrity'],
    run: checkArchives,
  },
  {
    name: 'verify',
    values: '[<place>]',
    about: 'Reads the backups in a folder or bucket, or all that the server keeps, and reports what is missing or damaged.',
    examples: ['verify --json', 'verify /srv/backups'],
    runAlone: (config, [place]) => verify(config, place),
  },
  {
    name: 'verify-audit',
    values: '[<hash>]',
    about: 'Compares the audit log with its hash chain, in which a hash that the log told before has to be.',
    examples: ['verify-audit'],
    run: (operation, [known]) => verifyAudit(operation, known),
  },
]

const people: Command[] = [
  {
    name: 'users',
    about: 'Lists the accounts with their roles, whether they can sign in, and when they did so last.',
    options: { role: { value: '<role>', about: 'Lists those with this role only: viewer, member, admin or owner.' } },
    examples: ['users', 'users --role admin --json'],
    run: (operation, _values, options) => listAccounts(operation, textIn(options, 'role')),
  },
  {
    name: 'create-user',
    values: '<email>',
    about: 'Makes an account and prints a one-time password; as owner only while there is none.',
    options: {
      name: { value: '<name>', about: 'What the person is called; the beginning of the e-mail address when left out.' },
      role: { value: '<role>', about: 'viewer, member (when left out), admin or owner.' },
    },
    examples: ['create-user ada@example.com --name "Ada Lovelace" --role admin'],
    run: (operation, [email], options) => createAccount(operation, { email, name: textIn(options, 'name'), role: textIn(options, 'role') }),
  },
  {
    name: 'reset-password',
    values: '<email>',
    about: "Prints a new one-time password and ends the person's sessions.",
    examples: ['reset-password ada@example.com'],
    run: (operation, [email]) => resetPassword(operation, email),
  },
  {
    name: 'make-owner',
    values: '<email>',
    about: 'Makes the person the owner; the owner so far becomes an administrator.',
    examples: ['make-owner ada@example.com'],
    run: (operation, [email]) => makeOwner(operation, email),
  },
  {
    name: 'change-role',
    values: '<email> <role>',
    about: "Makes the person a viewer, member or admin; not the owner, and not the owner's role.",
    examples: ['change-role ada@example.com member'],
    run: (operation, [email, role]) => changeRole(operation, email, role),
  },
  {
    name: 'disable-user',
    values: '<email>',
    about: "Ends the person's sessions and keeps them and their tokens out; not the owner.",
    examples: ['disable-user ada@example.com'],
    run: (operation, [email]) => setActive(operation, email, false),
  },
  {
    name: 'enable-user',
    values: '<email>',
    about: 'Lets a disabled person and their tokens in again.',
    examples: ['enable-user ada@example.com'],
    run: (operation, [email]) => setActive(operation, email, true),
  },
  {
    name: 'tokens',
    values: '[<email>]',
    about: 'Lists the access tokens of everybody, or of a person, without their secrets.',
    examples: ['tokens', 'tokens ada@example.com --json'],
    run: (operation, [email]) => listAccessTokens(operation, email),
  },
  {
    name: 'revoke-token',
    values: '<id>',
    about: 'Revokes an access token, and those that were made with it, by the id that tokens shows.',
    examples: ['revoke-token 019aa7c4-5f0e-7c3a-9d61-2f6c1f0b8e11'],
    run: (operation, [id]) => revokeAccessToken(operation, id),
  },
]

const backups: Command[] = [
  {
    name: 'backup',
    values: '<place>',
    about: 'Backs everything up to a folder or bucket; what an earlier backup there has is not copied again.',
    examples: ['backup /srv/backups', 'backup s3://company-backups/snug'],
    run: (operation, [place]) => backup(operation, place),
  },
  {
    name: 'restore',
    values: '<place> [<backup>]',
    about: 'Restores the newest backup of a folder or bucket, or another one, into an empty database and an empty store.',
    examples: ['restore /srv/backups', 'restore s3://company-backups/snug 20261122T031500000Z'],
    runAlone: (config, [place, id]) => restore(config, place, id),
  },
]

const storage: Command[] = [
  {
    name: 'reindex',
    about: 'Builds the search index of all packages anew, in small steps. May be ended and begun again.',
    examples: ['reindex'],
    run: reindex,
  },
  {
    name: 'collect',
    about: 'Removes archives that no version names; many at once only with --confirm.',
    options: {
      'dry-run': { about: 'Lists them only.' },
      confirm: { about: 'Removes them however many they are.' },
    },
    examples: ['collect --dry-run', 'collect --confirm'],
    run: (operation, _values, options) =>
      collect(operation, { dryRun: options['dry-run'] === true, confirmed: options['confirm'] === true }),
  },
  {
    name: 'restore-archive',
    values: '<archive> [<version>]',
    about: 'Puts a removed archive back: its SHA-256, or package and version. Possible for 7 days.',
    examples: ['restore-archive acme 1.0.0'],
    run: (operation, [archive, version]) => restoreArchive(operation, archive, version),
  },
  {
    name: 'move-blobs',
    values: '<store>',
    about: 'Copies all archives to the bucket (s3) or the folder (filesystem) of the settings. May be ended and begun again.',
    examples: ['move-blobs s3', 'move-blobs filesystem'],
    run: (operation, [kind]) => move(operation, kind),
  },
  {
    name: 'move-database',
    values: '[<url>]',
    about:
      'Moves everything from SQLite to an empty PostgreSQL database, of POSTGRES_URL unless another is named. May be ended and begun again.',
    details:
      'The server may be running. Until the end, which may take some minutes, it answers reads as always, and everything that would change something ' +
      'with 503 and the reason. Afterwards it changes nothing in the file any more: restart it with DB_BACKEND=postgres and POSTGRES_URL.',
    examples: ['move-database postgres://snug:password@localhost:5432/snug'],
    runAlone: (config, [url]) => moveToPostgres(config, url),
  },
  {
    name: 'adopt-store',
    about: 'Ties the archive store to the database, when the server says that they do not belong together.',
    examples: ['adopt-store'],
    run: adopt,
    migrates: true,
  },
]

const content: Command[] = [
  {
    name: 'import-advisories',
    values: '<file>',
    about: 'Keeps the security advisories of a file: one in OSV form, or a list of them.',
    examples: ['import-advisories advisories.json'],
    run: (operation, [path]) => importAdvisoryFile(operation, path),
  },
  {
    name: 'import-sdk',
    values: '<file>',
    about: 'Installs an SDK from an archive on this machine: of Dart (.zip) or Flutter (.tar.xz, .zip).',
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
    about: 'Adds an address that the server had before.',
    examples: ['remember-address https://pub.example.com'],
    run: (operation, [url = '']) => rememberServerAddress(operation, url),
  },
  {
    name: 'forget-address',
    values: '<url>',
    about: 'Removes one: what names it is on another server from then on.',
    examples: ['forget-address https://pub.example.com'],
    run: (operation, [url = '']) => forgetServerAddress(operation, url),
  },
]

/** All commands, by the title of their group. */
export const commandGroups: Record<string, readonly Command[]> = {
  'Look whether all is well': looking,
  People: people,
  'Packages, SDKs and addresses': content,
  'Search index and storage': storage,
  'Backup and restore': backups,
}

/** All commands by their names. */
export const commands: ReadonlyMap<string, Command> = new Map(
  Object.values(commandGroups).flatMap((group) => group.map((command) => [command.name, command])),
)
