import { newJobSecret } from '../access/token-secret.ts'
import { sha256 } from '../http/keys.ts'
import type { Services } from '../services.ts'
import { JobToken } from './job-entity.ts'

type Grant = {
  /** The packages that it may read, by name. */
  packages: readonly string[]
  /** Whether it reads of them only what anybody may: what comes of the job is shown to anybody. */
  isForAnybody: boolean
  /** When it ends, should the server not be there any more to revoke it. */
  lifeMs: number
}

/**
 * Lends a job the secret of a token that reads these packages, and nothing else, while it works. Afterwards the token is worthless. Members
 * read all packages of a server, so it lets nobody's package find out what its publisher may not.
 */
export async function withJobToken<T>({ database, now }: Services, grant: Grant, work: (secret: string) => Promise<T>): Promise<T> {
  const em = database.fork()
  const secret = newJobSecret()
  const expiresAt = new Date(now().getTime() + grant.lifeMs)
  // Those of jobs that ended with their server.
  await em.nativeDelete(JobToken, { expiresAt: { $lte: now() } })
  const token = em.create(JobToken, {
    hash: sha256(secret),
    packages: grant.packages.join(','),
    isForAnybody: grant.isForAnybody,
    expiresAt,
  })
  await em.flush()
  try {
    return await work(secret)
  } finally {
    await database.fork().nativeDelete(JobToken, { id: token.id })
  }
}
