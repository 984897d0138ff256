import { type Command, textIn } from './command.ts'
import { forgetServerAddress, importAdvisoryFile, importSdkFile, listServerAddresses, rememberServerAddress } from './content.ts'
import { checkArchives, doctor, verify, verifyAudit } from './diagnostics.ts'
import {
  changeRole,
  createAccount,
  listAccessTokens,
  listAccounts,
  makeOwner,
  resetPasswordByEmail,
  resetSecondFactorByEmail,
  revokeAccessToken,
  setActive,
} from './people.ts'
import { exportCache, fetchLocked, importCache, rewriteLockFiles } from './mirror.ts'
import { adopt, backup, collect, move, moveToPostgres, reindex, restore, restoreArchive } from './storage.ts'

/** Commands by usage: the name and the placeholders of the values. */
type Commands = Record<string, DistributiveOmit<Command, 'name' | 'values'>>
type DistributiveOmit<Type, Key extends PropertyKey> = Type extends unknown ? Omit<Type, Key> : never

const looking: Commands = {
  doctor: {
    about:
      'Checks everything that the server needs: settings, database, storage, archives known to be damaged, failed jobs, backups, address, clocks, space, mirror, versions, SDKs.',
    options: {
      quick: { about: 'Skips checks that read the whole database.' },
      settings: { about: 'Also prints the effective settings, with secrets masked.' },
    },
    examples: ['doctor', 'doctor --quick --json'],
    runAnywhere: (environment, _values, options) =>
      doctor(environment, { quick: options['quick'] === true, withSettings: options['settings'] === true }),
  },
  'check-integrity': {
    about: 'Checks all stored archives and reports missing, damaged and orphaned files.',
    examples: ['check-integrity'],
    run: checkArchives,
  },
  'verify [<place>]': {
    about: 'Verifies the backups in a folder or bucket, or all data of the server, and reports missing and damaged files.',
    examples: ['verify --json', 'verify /srv/backups'],
    runAlone: (config, [place]) => verify(config, place),
  },
  'verify-audit [<hash>]': {
    about: 'Verifies the audit log against its hash chain. With a hash from the server log, also checks that the chain contains it.',
    examples: ['verify-audit'],
    run: (operation, [known]) => verifyAudit(operation, known),
  },
}

const people: Commands = {
  users: {
    about: 'Lists accounts with their role, status and last sign-in.',
    options: { role: { value: '<role>', about: 'Filters by role: viewer, member, admin or owner.' } },
    examples: ['users', 'users --role admin --json'],
    run: (operation, _values, options) => listAccounts(operation, textIn(options, 'role')),
  },
  'create-user <email>': {
    about: 'Creates an account and prints a one-time password. The role owner is allowed only if there is no owner.',
    options: {
      name: { value: '<name>', about: 'Display name. Default: the local part of the e-mail address.' },
      role: { value: '<role>', about: 'Role: viewer, member (default), admin or owner.' },
    },
    examples: ['create-user ada@example.com --name "Ada Lovelace" --role admin'],
    run: (operation, [email], options) => createAccount(operation, { email, name: textIn(options, 'name'), role: textIn(options, 'role') }),
  },
  'reset-password <email>': {
    about: 'Sets and prints a new one-time password and ends all sessions of the account.',
    examples: ['reset-password ada@example.com'],
    run: (operation, [email]) => resetPasswordByEmail(operation, email),
  },
  'reset-second-factor <email>': {
    about: 'Removes the authenticator app, recovery codes and passkeys of an account, also of the owner, and ends its sessions.',
    examples: ['reset-second-factor ada@example.com'],
    run: (operation, [email]) => resetSecondFactorByEmail(operation, email),
  },
  'make-owner <email>': {
    about: 'Transfers the ownership to an account. The previous owner becomes an administrator.',
    examples: ['make-owner ada@example.com'],
    run: (operation, [email]) => makeOwner(operation, email),
  },
  'change-role <email> <role>': {
    about: 'Changes the role of an account to viewer, member or admin. Not possible for the owner.',
    examples: ['change-role ada@example.com member'],
    run: (operation, [email, role]) => changeRole(operation, email, role),
  },
  'disable-user <email>': {
    about: 'Disables an account: ends its sessions and blocks its access tokens. Not possible for the owner.',
    examples: ['disable-user ada@example.com'],
    run: (operation, [email]) => setActive(operation, email, false),
  },
  'enable-user <email>': {
    about: 'Enables a disabled account and its access tokens again.',
    examples: ['enable-user ada@example.com'],
    run: (operation, [email]) => setActive(operation, email, true),
  },
  'tokens [<email>]': {
    about: 'Lists the access tokens of all accounts or of one account, without secrets.',
    examples: ['tokens', 'tokens ada@example.com --json'],
    run: (operation, [email]) => listAccessTokens(operation, email),
  },
  'revoke-token <id>': {
    about: 'Revokes an access token and all tokens created with it. Use the id that the command tokens prints.',
    examples: ['revoke-token 019aa7c4-5f0e-7c3a-9d61-2f6c1f0b8e11'],
    run: (operation, [id]) => revokeAccessToken(operation, id),
  },
}

const backups: Commands = {
  'backup <place>': {
    about: 'Backs up all data to a folder or bucket. Archives stored by earlier backups there are not copied again.',
    examples: ['backup /srv/backups', 'backup s3://company-backups/snug'],
    run: (operation, [place]) => backup(operation, place),
  },
  'restore <place> [<backup>]': {
    about: 'Restores the newest or the given backup from a folder or bucket into an empty database and an empty store.',
    examples: ['restore /srv/backups', 'restore s3://company-backups/snug 20261122T031500000Z'],
    runAlone: (config, [place, id]) => restore(config, place, id),
  },
}

const storage: Commands = {
  reindex: { about: 'Rebuilds the search index of all packages. Can be interrupted and run again.', examples: ['reindex'], run: reindex },
  collect: {
    about: 'Removes orphaned archives. Removing a large number requires --confirm.',
    options: { 'dry-run': { about: 'Only lists the archives.' }, confirm: { about: 'Allows removing any number of archives.' } },
    examples: ['collect --dry-run', 'collect --confirm'],
    run: (operation, _values, options) =>
      collect(operation, { dryRun: options['dry-run'] === true, confirmed: options['confirm'] === true }),
  },
  'restore-archive <archive> [<version>]': {
    about: 'Restores an archive removed in the last 7 days, given by its SHA-256 or by package and version.',
    examples: ['restore-archive acme 1.0.0'],
    run: (operation, [archive, version]) => restoreArchive(operation, archive, version),
  },
  'move-blobs <store>': {
    about: 'Copies all archives to the configured bucket (s3) or folder (filesystem). Can be interrupted and run again.',
    examples: ['move-blobs s3', 'move-blobs filesystem'],
    run: (operation, [kind]) => move(operation, kind),
  },
  'move-database [<url>]': {
    about: 'Moves all data from SQLite to an empty PostgreSQL database (default: POSTGRES_URL). Can be interrupted and run again.',
    details:
      'The server may be running. The move may take some minutes. During and after it, the server answers reads as usual and rejects changes with ' +
      'status 503. Afterwards restart it with DB_BACKEND=postgres and POSTGRES_URL.',
    examples: ['move-database postgres://snug:password@localhost:5432/snug'],
    runAlone: (config, [url]) => moveToPostgres(config, url),
  },
  'adopt-store': {
    about: 'Links the archive store to the database if the server reports that they do not belong together.',
    examples: ['adopt-store'],
    run: adopt,
    migrates: true,
  },
}

const content: Commands = {
  'import-advisories <file>': {
    about: 'Imports security advisories from a file in OSV format: one or a list.',
    examples: ['import-advisories advisories.json'],
    run: (operation, [path]) => importAdvisoryFile(operation, path),
  },
  'import-sdk <file>': {
    about: 'Installs an SDK from a local archive of Dart (.zip) or Flutter (.tar.xz, .zip).',
    examples: ['import-sdk dartsdk-linux-x64-release.zip'],
    run: (operation, [path]) => importSdkFile(operation, path),
  },
  'list-addresses': {
    about: 'Prints the addresses that count as this server in dependencies and publish_to.',
    examples: ['list-addresses'],
    run: listServerAddresses,
  },
  'remember-address <url>': {
    about: 'Adds a former address of the server.',
    examples: ['remember-address https://pub.example.com'],
    run: (operation, [url = '']) => rememberServerAddress(operation, url),
  },
  'forget-address <url>': {
    about: 'Removes a former address. Dependencies on it then refer to another server.',
    examples: ['forget-address https://pub.example.com'],
    run: (operation, [url = '']) => forgetServerAddress(operation, url),
  },
}

const mirror: Commands = {
  'mirror-fetch <pubspec.lock…>': {
    about: 'Fetches everything that lock files name into the mirror: listings, advisories and archives. Can be interrupted and run again.',
    details:
      'Fetches packages whose URL in the lock file is that of the upstream server or of the mirror, compares the SHA-256 of each with the listing, and ' +
      'names the others. Policies do not apply here, but when clients read.',
    examples: ['mirror-fetch app/pubspec.lock', 'mirror-fetch --json app/pubspec.lock tool/pubspec.lock'],
    runAlone: (config, paths) => fetchLocked(config, paths),
  },
  'mirror-export <folder>': {
    about: 'Writes all files of the mirror to a folder, for mirror-import on another server. Can be interrupted and run again.',
    examples: ['mirror-export /media/usb/mirror'],
    runAlone: (config, [folder = '']) => exportCache(config, folder),
  },
  'mirror-import <folder>': {
    about: 'Imports a folder that mirror-export wrote. Verifies every file, and keeps what the mirror has newer. Can be run again.',
    details:
      'Import only folders that you trust: the check finds damaged files and replaced archives, not a forged listing of a new package.',
    examples: ['mirror-import /media/usb/mirror'],
    runAlone: (config, [folder = '']) => importCache(config, folder),
  },
  'mirror-lockfile <pubspec.lock…>': {
    about:
      "Changes the URLs of upstream packages in lock files to the mirror's, where the SHA-256 is the same. Leaves all other bytes unchanged.",
    options: {
      'to-upstream': { about: "Changes the mirror's URL back to that of the upstream server." },
      check: { about: 'Changes no file. Fails if a file would be changed.' },
    },
    examples: ['mirror-lockfile app/pubspec.lock', 'mirror-lockfile --check app/pubspec.lock'],
    runAlone: (config, paths, options) =>
      rewriteLockFiles(config, paths, { toUpstream: options['to-upstream'] === true, isCheck: options['check'] === true }),
  },
}

/** All admin commands, grouped by the titles in the help. */
export const commandGroups: Record<string, readonly Command[]> = {
  Diagnostics: withNames(looking),
  People: withNames(people),
  'Packages, SDKs and addresses': withNames(content),
  'Search index and storage': withNames(storage),
  Mirror: withNames(mirror),
  'Backup and restore': withNames(backups),
}

function withNames(group: Commands): Command[] {
  return Object.entries(group).map(([usage, command]) => {
    const [name = '', ...values] = usage.split(' ')
    return { ...command, name, values: values.join(' ') }
  })
}

/** All admin commands by name. */
export const commands: ReadonlyMap<string, Command> = new Map(
  Object.values(commandGroups).flatMap((group) => group.map((command) => [command.name, command])),
)
