import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { TestApp } from '../app.ts'
import { Actor, type Answer } from '../actor.ts'
import { cookieName } from '../../server/platform/http/cookies.ts'

type Options = { challenge: string; rp?: { id: string }; rpId?: string; user?: { id: string } }

/** What an authenticator or a page does differently from an honest one. */
export type Deviation = {
  origin?: string
  rpId?: string
  challenge?: string
  userVerified?: boolean
  userHandle?: string
  counter?: number
  key?: KeyObject
  crossOrigin?: boolean
  type?: string
}

const base64url = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64url')
const digest = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest()

/** A software authenticator with one passkey: ES256, no attestation, discoverable, with user verification (WebAuthn Level 3). */
export class Authenticator {
  readonly credentialId = base64url(randomBytes(32))
  counter = 1
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  private userHandle = ''
  private readonly origin: string

  constructor(origin = 'http://localhost:8080') {
    this.origin = origin
  }

  /** Creates the passkey, as navigator.credentials.create() does. */
  create({ challenge, rp, user }: Options, deviation: Deviation = {}) {
    this.userHandle = user?.id ?? ''
    const id = Buffer.from(this.credentialId, 'base64url')
    const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, this.publicKey()])
    const data = Buffer.concat([this.authenticatorData(rp?.id ?? '', 0x40, deviation), credential])
    // CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
    const head = Buffer.from(`a363666d74646e6f6e656761747453746d74a068${Buffer.from('authData').toString('hex')}59`, 'hex')
    const length = Buffer.from([data.length >> 8, data.length & 0xff])
    const response = { attestationObject: base64url(Buffer.concat([head, length, data])), transports: ['internal', 'hybrid'] }
    return this.credential({ ...this.clientData('webauthn.create', challenge, deviation), ...response })
  }

  /** Signs a challenge, as navigator.credentials.get() does. */
  get({ challenge, rpId = '' }: Options, deviation: Deviation = {}) {
    this.counter += 1
    const data = this.authenticatorData(rpId, 0, deviation)
    const client = this.clientData('webauthn.get', challenge, deviation)
    const signed = Buffer.concat([data, digest(Buffer.from(client.clientDataJSON, 'base64url'))])
    const signature = base64url(sign('sha256', signed, deviation.key ?? this.keys.privateKey))
    const userHandle = deviation.userHandle ?? this.userHandle
    return this.credential({ ...client, authenticatorData: base64url(data), signature, ...(userHandle && { userHandle }) })
  }

  private credential<Response extends object>(response: Response) {
    const { credentialId: id } = this
    return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {}, authenticatorAttachment: 'platform' }
  }

  private clientData(type: string, challenge: string, deviation: Deviation) {
    const data = { type, challenge, origin: this.origin, crossOrigin: false }
    const { origin, crossOrigin } = deviation
    const changed = {
      ...data,
      ...(deviation.challenge && { challenge: deviation.challenge }),
      ...(deviation.type && { type: deviation.type }),
    }
    return { clientDataJSON: base64url(JSON.stringify({ ...changed, ...(origin && { origin }), ...(crossOrigin && { crossOrigin }) })) }
  }

  private authenticatorData(rpId: string, flags: number, { rpId: other, userVerified = true, counter = this.counter }: Deviation): Buffer {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    // User present, and verified.
    return Buffer.concat([digest(other ?? rpId), Buffer.from([flags | 1 | (userVerified ? 4 : 0)]), count])
  }

  /** Returns the public key in COSE format: {1: 2, 3: -7, -1: 1, -2: x, -3: y}. */
  private publicKey(): Buffer {
    const { x = '', y = '' } = this.keys.publicKey.export({ format: 'jwk' })
    const [left, right] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
    return Buffer.concat([Buffer.from('a5010203262001215820', 'hex'), left, Buffer.from('225820', 'hex'), right])
  }
}

/** Adds a passkey in a session. */
export async function addPasskey(session: Actor, name = 'Laptop', authenticator = new Authenticator()): Promise<Authenticator> {
  const options = await session.post('/api/auth/passkeys/options')
  if (options.status !== 200) throw new Error(`No options: ${JSON.stringify(options.body)}`)
  const answer = await session.post('/api/auth/passkeys', { name, credential: authenticator.create(options.body) })
  if (answer.status !== 201) throw new Error(`Not registered: ${JSON.stringify(answer.body)}`)
  return authenticator
}

/** The options for a sign-in with a passkey, and the header with the cookie of the browser that received them. */
export async function signInOptions(app: TestApp, ip = app.address()) {
  const answer = await app.anonymous.post('/api/auth/passkey/options', undefined, { ip })
  const name = cookieName('passkey', app.config.SERVER_URL)
  const value = answer.cookies.find((cookie) => cookie.name === name)?.value
  return { options: answer.body as { challenge: string; rpId: string }, answer, ip, headers: { cookie: `${name}=${value}` } }
}

/** Signs in with a passkey, from a new browser. */
export async function signInWith(app: TestApp, authenticator: Authenticator, deviation: Deviation = {}): Promise<Answer> {
  const { options, ip, headers } = await signInOptions(app)
  return app.anonymous.post('/api/auth/passkey/login', { credential: authenticator.get(options, deviation) }, { ip, headers })
}

/** Returns an actor with the cookies of a sign-in. */
export function browserOf(app: TestApp, user: Actor['user'], { cookies }: Answer): Actor {
  const kept = cookies.filter(({ value }) => value !== '')
  return new Actor(app.http, { user, cookies: Object.fromEntries(kept.map(({ name, value }) => [name, value])), ip: app.address() })
}

/** Proves with a passkey in a session. */
export async function prove(session: Actor, authenticator: Authenticator, deviation: Deviation = {}): Promise<Answer> {
  const { body } = await session.post('/api/auth/passkey/proof-options')
  return session.post('/api/auth/passkey/proof', { credential: authenticator.get(body, deviation) })
}
