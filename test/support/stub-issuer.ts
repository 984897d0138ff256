import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

type Key = { privateKey: CryptoKey; publicKey: CryptoKey; kid: string }

/** What a test changes about the answers of the issuer. */
export type Behaviour = {
  /** The ID token for a code. By default, a valid one for the person of the code. */
  idToken?: (claims: JWTPayload) => Promise<string> | string
  /** Changes to the metadata. */
  metadata?: Record<string, unknown>
  /** Answers all requests with this status. */
  status?: number
  /** Rejects all codes with this error. */
  tokenError?: string
  /** Redirects all requests for keys to this URL. */
  keysAt?: string
}

/** An OpenID provider that issues whatever ID tokens a test wants. A code is the JSON of the claims, in base64url. */
export class StubIssuer implements AsyncDisposable {
  readonly issuer: string
  readonly behaviour: Behaviour = {}
  /** Paths of the requests. */
  readonly requests: string[] = []
  /** Bodies that the token endpoint received. */
  readonly exchanges: URLSearchParams[] = []
  keys: Key[]
  private readonly close: () => Promise<void>

  private constructor(issuer: string, keys: Key[], close: () => Promise<void>) {
    this.issuer = issuer
    this.keys = keys
    this.close = close
  }

  static async start(): Promise<StubIssuer> {
    const held: { stub?: StubIssuer } = {}
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        void held.stub?.answer(request.url ?? '/', Buffer.concat(chunks).toString()).then(({ status, body }) => {
          const { keysAt: location } = held.stub?.behaviour ?? {}
          const headers = { 'content-type': 'application/json', ...(status === 302 && location !== undefined && { location }) }
          response.writeHead(status, headers).end(JSON.stringify(body))
        })
      })
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const close = async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
    return (held.stub = new StubIssuer(issuer, [await newKey('first')], close))
  }

  [Symbol.asyncDispose] = (): Promise<void> => this.close()

  /** Replaces the keys, as a provider does from time to time. */
  async rotateKeys(): Promise<void> {
    this.keys = [await newKey('second')]
  }

  /** Signs claims with the current key. */
  sign = (claims: JWTPayload, key = this.keys[0] as Key): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.kid }).sign(key.privateKey)

  /** Returns the code for a person. */
  code = (claims: Record<string, unknown>): string => Buffer.from(JSON.stringify(claims)).toString('base64url')

  private async answer(url: string, body: string): Promise<{ status: number; body: unknown }> {
    const { status, metadata, tokenError, keysAt } = this.behaviour
    const path = new URL(url, this.issuer).pathname
    this.requests.push(path)
    if (status !== undefined) return { status, body: { error: 'temporarily_unavailable' } }
    if (path === '/.well-known/openid-configuration') return { status: 200, body: { ...this.metadata(), ...metadata } }
    if (path === '/jwks' && keysAt !== undefined) return { status: 302, body: {} }
    if (path === '/jwks') return { status: 200, body: { keys: await Promise.all(this.keys.map(publicKeyOf)) } }
    if (path !== '/token') return { status: 404, body: {} }
    const given = new URLSearchParams(body)
    this.exchanges.push(given)
    if (tokenError !== undefined) return { status: 400, body: { error: tokenError, error_description: 'Rejected.' } }
    const claims = JSON.parse(Buffer.from(given.get('code') ?? '', 'base64url').toString()) as JWTPayload
    const idToken = await (this.behaviour.idToken ?? this.sign)(claims)
    return { status: 200, body: { access_token: 'unused', token_type: 'Bearer', id_token: idToken } }
  }

  private metadata(): Record<string, unknown> {
    const at = (path: string) => `${this.issuer}${path}`
    return {
      issuer: this.issuer,
      authorization_endpoint: at('/authorize'),
      token_endpoint: at('/token'),
      jwks_uri: at('/jwks'),
      end_session_endpoint: at('/logout'),
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
    }
  }
}

export async function newKey(kid: string): Promise<Key> {
  return { ...(await generateKeyPair('RS256', { extractable: true })), kid }
}

export const publicKeyOf = async ({ publicKey, kid }: Key) => ({ ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' })
