import { Secret, TOTP } from 'otpauth'
import type { Actor } from '../actor.ts'

/** Returns the code that an authenticator app shows. */
export const codeAt = (secret: string, moment: Date): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: moment.getTime() })

/** Adds an authenticator app in a session. Returns its secret and the recovery codes. */
export async function addTotp(session: Actor, moment: Date): Promise<{ secret: string; recoveryCodes: string[] }> {
  const started = await session.post('/api/auth/totp')
  const { secret } = started.body as { secret: string }
  const confirmed = await session.post('/api/auth/totp/confirm', { otp: codeAt(secret, moment) })
  if (confirmed.status !== 200) throw new Error(`Not confirmed: ${JSON.stringify(confirmed.body)}`)
  return { secret, recoveryCodes: confirmed.body.recoveryCodes }
}
