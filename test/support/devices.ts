import type { Actor, Answer } from '../actor.ts'
import type { TestApp } from '../app.ts'

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Starts the sign-in of a device from an address of its own. */
export async function startDevice(app: TestApp, parameters: object = {}) {
  const client = app.anonymous
  const ip = app.address()
  const { status, body } = await client.post('/oauth/device_authorization', { client_id: 'cli', ...parameters }, { ip })
  if (status !== 200) throw new Error(`No device codes: ${status} ${JSON.stringify(body)}`)
  const poll = (actor: Actor = client): Promise<Answer> =>
    actor.post('/oauth/token', { grant_type: deviceGrant, client_id: 'cli', device_code: body.device_code }, { ip })
  return { ...(body as { device_code: string; user_code: string; interval: number }), ip, poll }
}

export const approveDevice = (session: Actor, userCode: string): Promise<Answer> =>
  session.post('/oauth/device/approve', { user_code: userCode })
export const denyDevice = (session: Actor, userCode: string): Promise<Answer> => session.post('/oauth/device/deny', { user_code: userCode })

/** Moves the clock of the app forward. */
export function wait(app: TestApp, seconds: number): void {
  app.clock.now = new Date(app.services.now().getTime() + seconds * 1000)
}
