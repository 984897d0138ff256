import type { EntityManager } from '@mikro-orm/sql'
import { sql } from 'kysely'
import type { Config } from '../../platform/config/config.ts'
import type { Query } from '../../platform/db/query.ts'
import { changeRows, readRows } from '../../platform/db/statements.ts'
import type { Keys } from '../../platform/http/keys.ts'
import { seal, sealedPrefix, unseal } from '../../platform/http/sealed.ts'
import type { Services } from '../../services.ts'

type Column = { table: string; key: string; column: string }

const clientSecrets: Column = { table: 'oidc_providers', key: 'name', column: 'client_secret' }
const authenticators: Column = { table: 'totp_secrets', key: 'user_id', column: 'sealed' }

/** The columns with sealed texts that are kept. Attempts to sign in (`oidc_rounds`) expire within minutes. */
export const sealedColumns: readonly Column[] = [
  clientSecrets,
  authenticators,
  { table: 'provider_sessions', key: 'session_id', column: 'end_session_url' },
]

type SealedRow = { id: string; sealed: string }

/** Selects the texts that were not sealed with the current key. */
const sealedOtherwise = ({ table, key, column }: Column, keys: Keys): Query<SealedRow> =>
  sql<SealedRow>`select ${sql.ref(key)} as id, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where ${sql.ref(column)} not like ${`${sealedPrefix(keys)}%`}`

/**
 * Seals texts again that were sealed with the previous JWT_SECRET, so that it can be removed. Does nothing for texts that neither secret opens.
 * A text that is replaced at the same moment stays as it is.
 */
export async function resealSecrets({ database, keys, log }: Pick<Services, 'database' | 'keys' | 'log'>): Promise<void> {
  const em = database.fork()
  let count = 0
  for (const named of sealedColumns) {
    const { table, key, column } = named
    for (const { id, sealed } of await readRows(em, sealedOtherwise(named, keys))) {
      const text = unseal(keys, sealed)
      if (text === null) continue
      const [now, isUnchanged] = [seal(keys, text), sql`${sql.ref(key)} = ${id} and ${sql.ref(column)} = ${sealed}`]
      count += await changeRows(em, sql`update ${sql.table(table)} set ${sql.ref(column)} = ${now} where ${isUnchanged}`)
    }
  }
  if (count > 0) log.info(`Secrets that were encrypted again with JWT_SECRET: ${count}.`)
}

/** Secrets that cannot be decrypted: the names of providers, and the number of authenticator apps. */
type Unreadable = { providers: string[]; authenticators: number }

async function findUnreadable(em: EntityManager, config: Config, keys: Keys): Promise<Unreadable> {
  const among = async (column: Column) =>
    (await readRows(em, sealedOtherwise(column, keys))).filter(({ sealed }) => unseal(keys, sealed) === null).map(({ id }) => id)
  // A provider of the environment hides a stored one with the same name.
  const isHidden = new Set(config.oidcProviders.map(({ name }) => name))
  const providers = (await among(clientSecrets)).filter((name) => !isHidden.has(name)).toSorted()
  return { providers, authenticators: (await among(authenticators)).length }
}

export type SealedProblem = { count: number; text: string; advice: string }

/**
 * Reports secrets that cannot be decrypted, because JWT_SECRET was replaced without JWT_SECRET_PREVIOUS, such as on a restored server. Returns null
 * without any.
 */
export async function sealedProblem(em: EntityManager, config: Config, keys: Keys): Promise<SealedProblem | null> {
  const unreadable = await findUnreadable(em, config, keys)
  const [providers, apps] = [unreadable.providers.length, unreadable.authenticators]
  if (providers + apps === 0) return null
  const what = [
    ...(providers > 0 ? [`the client secrets of sign-in providers (${unreadable.providers.join(', ')})`] : []),
    ...(apps > 0 ? [`the secrets of authenticator apps (${apps})`] : []),
  ]
  const steps = [
    ...(providers > 0 ? ['enter the client secrets again'] : []),
    ...(apps > 0 ? ['reset the second factor of people who have neither a recovery code nor a passkey'] : []),
  ]
  return {
    count: providers + apps,
    text: `These secrets cannot be decrypted with JWT_SECRET: ${what.join('; ')}.`,
    advice: `Set JWT_SECRET_PREVIOUS to the former secret. If it is lost, ${steps.join(', and ')}.`,
  }
}

/** Logs at the start of the server which secrets must be entered again. */
export async function warnOfUnreadableSecrets({ config, database, keys, log }: Services): Promise<void> {
  const problem = await sealedProblem(database.fork(), config, keys)
  if (problem) log.warning(`${problem.text} ${problem.advice}`)
}
