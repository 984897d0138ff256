import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that tokens are for. */
type Audience = { config: { SERVER_URL: string }; services: { now: () => Date } }

type Key = { kid: string; sign: CryptoKey; jwk: JWK }

/** An issuer of tokens on this machine, with keys that tests can replace. Each path below its address is an issuer of its own. */
export class TokenIssuer implements AsyncDisposable {
  readonly keys: Key[] = []
  /** Number of requests for keys. */
  fetches = 0
  /** Replaces the answer for the keys, or for the discovery document. */
  answerKeys: ((response: ServerResponse) => void) | null = null
  answerDiscovery: ((response: ServerResponse) => void) | null = null
  private readonly server = createServer((request, response) => this.answer(request.url ?? '', response))

  static async start(): Promise<TokenIssuer> {
    const issuer = new TokenIssuer()
    await new Promise<void>((resolve) => issuer.server.listen(0, '127.0.0.1', resolve))
    await issuer.addKey()
    return issuer
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }
  url = (path = 'ci'): string => `http://${this.host}/${path}`

  async addKey(algorithm = 'RS256'): Promise<Key> {
    const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
    const kid = `key-${this.keys.length + 1}`
    const key = { kid, sign: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } }
    this.keys.push(key)
    return key
  }

  /** Returns a token with these claims, signed with the newest key. Times and audience have valid defaults. */
  async token(
    server: Audience,
    claims: object,
    { path = 'ci', key = this.keys.at(-1) }: { path?: string; key?: Key | undefined } = {},
  ): Promise<string> {
    if (!key) throw new Error('The issuer has no key')
    const seconds = Math.floor(server.services.now().getTime() / 1000)
    const times = { iat: seconds, nbf: seconds, exp: seconds + 300 }
    const payload = { iss: this.url(path), aud: server.config.SERVER_URL, sub: 'job', jti: `${++this.tokens}`, ...times, ...claims }
    return new SignJWT(payload).setProtectedHeader({ alg: key.jwk.alg ?? '', kid: key.kid, typ: 'JWT' }).sign(key.sign)
  }
  /** Number of tokens that were issued. */
  tokens = 0

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private answer(url: string, response: ServerResponse): void {
    const path = url.split('/')[1] ?? ''
    const isKeys = url.endsWith('/jwks')
    if (isKeys) this.fetches++
    const replaced = isKeys ? this.answerKeys : this.answerDiscovery
    if (replaced) return replaced(response)
    const document = isKeys ? { keys: this.keys.map(({ jwk }) => jwk) } : { issuer: this.url(path), jwks_uri: `${this.url(path)}/jwks` }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document))
  }
}

/** Claims of a job of GitHub Actions that runs for a tag of acme/acme_ui. */
export const githubClaims = {
  sub: 'repo:acme/acme_ui:ref:refs/tags/v1.0.0',
  repository: 'acme/acme_ui',
  repository_id: '1',
  repository_owner: 'acme',
  repository_owner_id: '10',
  repository_visibility: 'private',
  ref: 'refs/tags/v1.0.0',
  ref_type: 'tag',
  sha: 'a'.repeat(40),
  workflow: 'Publish',
  workflow_ref: 'acme/acme_ui/.github/workflows/publish.yml@refs/tags/v1.0.0',
  job_workflow_ref: 'acme/acme_ui/.github/workflows/publish.yml@refs/tags/v1.0.0',
  event_name: 'push',
  run_id: '77',
  run_number: '7',
  run_attempt: '1',
  actor: 'octo',
  runner_environment: 'github-hosted',
}

/** A rule for these jobs. */
export const acmeRule = { repository: 'acme/acme_ui', tagPattern: 'v{{version}}' }
