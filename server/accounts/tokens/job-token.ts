import { newJobSecret } from '../../platform/access/token-secret.ts'
import { sha256 } from '../../platform/http/keys.ts'
import type { Services } from '../../services.ts'
import { JobToken } from './entity.ts'

type Grant = {
  /** Names of the packages that the token can read. */
  packages: readonly string[]
  /** Whether only public packages can be read, because the result of the job is public. */
  isPublicOnly: boolean
  /** Lifetime of the token in milliseconds, in case the server dies before it can revoke the token. */
  lifeMs: number
}

/**
 * Creates a token that can read only these packages, passes its secret to `work`, and deletes the token afterwards. A job must not use a token with
 * broader access: a package could then read packages that its publisher cannot.
 */
export async function withJobToken<T>({ database, now }: Services, grant: Grant, work: (secret: string) => Promise<T>): Promise<T> {
  const em = database.fork()
  const secret = newJobSecret()
  const expiresAt = new Date(now().getTime() + grant.lifeMs)
  // Delete expired tokens of jobs whose server died.
  await em.nativeDelete(JobToken, { expiresAt: { $lte: now() } })
  const token = em.create(JobToken, {
    hash: sha256(secret),
    packages: grant.packages.join(','),
    isPublicOnly: grant.isPublicOnly,
    expiresAt,
  })
  await em.flush()
  try {
    return await work(secret)
  } finally {
    await database.fork().nativeDelete(JobToken, { id: token.id })
  }
}
