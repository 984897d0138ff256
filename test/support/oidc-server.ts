import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
// @ts-expect-error -- the package has no types
import { Provider } from 'oidc-provider'
import type { Browser } from './oidc.ts'

/** The claims of a person by subject. */
type People = Record<string, Record<string, unknown>>

/** The interface of `oidc-provider` that is used here. */
type Library = {
  callback(): (request: IncomingMessage, response: ServerResponse) => void
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<{ prompt: { name: string } }>
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object, options: object): Promise<void>
  Grant: new (properties: object) => { addOIDCScope(scopes: string): void; save(): Promise<string> }
}
type GrantContext = { oidc: { provider: Library; client: { clientId: string }; session: { accountId: string }; params: { scope: string } } }

/** The page that asks whether to sign out. */
const logoutSource = (context: { body: string }, form: string): void => {
  context.body = form
}

/** A real OpenID provider, which signs in `currentSubject` without asking. */
export class OidcServer implements AsyncDisposable {
  readonly issuer: string
  readonly people: People = {}
  currentSubject = ''
  private library!: Library
  private readonly client: { backchannelLogoutUri?: string }
  private readonly close: () => Promise<void>

  private constructor(issuer: string, client: OidcServer['client'], close: () => Promise<void>) {
    this.issuer = issuer
    this.client = client
    this.close = close
  }

  static async start(client: { backchannelLogoutUri?: string } = {}): Promise<OidcServer> {
    const held: { provider?: OidcServer } = {}
    const server = createServer((request, response) => void held.provider?.answer(request, response))
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const close = async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
    const provider = new OidcServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, client, close)
    await provider.renew()
    return (held.provider = provider)
  }

  [Symbol.asyncDispose] = (): Promise<void> => this.close()

  /** Restarts the provider with a new key, and with the client as it is now. */
  async renew(changes: { backchannelLogoutUri?: string } = {}): Promise<void> {
    Object.assign(this.client, changes)
    const { privateKey } = await generateKeyPair('RS256', { extractable: true })
    const jwk = { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256' }
    this.library = new (Provider as new (issuer: string, options: object) => Library)(this.issuer, this.options(jwk))
  }

  private options(jwk: object): object {
    const { backchannelLogoutUri } = this.client
    const logout = backchannelLogoutUri ? { backchannel_logout_uri: backchannelLogoutUri, backchannel_logout_session_required: true } : {}
    return {
      jwks: { keys: [jwk] },
      cookies: { keys: ['a key for the cookies of tests'] },
      clients: [
        {
          client_id: 'snug',
          client_secret: 'the secret of this server at the provider',
          redirect_uris: ['http://localhost:8080/auth/oidc/acme/callback'],
          post_logout_redirect_uris: ['http://localhost:8080/login'],
          ...logout,
        },
      ],
      claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'], profile: ['name'] },
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: { enabled: true, logoutSource },
      },
      interactions: { url: () => '/interaction' },
      // The library refuses to send requests to this machine otherwise.
      fetch: (url: string, { dispatcher: _dispatcher, ...options }: RequestInit & { dispatcher?: unknown }) => fetch(url, options),
      ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
      findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...this.people[id] }) }),
      loadExistingGrant: async ({ oidc: { provider, client, session, params } }: GrantContext) => {
        const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
        grant.addOIDCScope(params.scope)
        await grant.save()
        return grant
      },
    }
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url !== '/interaction') return this.library.callback()(request, response)
    await this.library.interactionDetails(request, response)
    const result = { login: { accountId: this.currentSubject, amr: ['pwd', 'mfa'] } }
    return this.library.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  }

  /** Follows the redirects of a round at the provider with its cookies, and returns the parameters of the callback. */
  async visit(start: URL, cookies: Map<string, string>): Promise<Record<string, string>> {
    let url = start
    for (let hop = 0; hop < 10 && url.origin === this.issuer; hop++) {
      const answer = await this.request(url, cookies)
      const location = answer.headers.get('location')
      if (location === null) throw new Error(`No redirect from ${url.pathname}: ${answer.status} ${await answer.text()}`)
      url = new URL(location, url)
    }
    return Object.fromEntries(url.searchParams)
  }

  /** Sends a request with the cookies of a browser, and keeps those of the response. */
  async request(url: URL, cookies: Map<string, string>, form?: URLSearchParams): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie }, ...(form && { method: 'POST', body: form }) })
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return answer
  }

  /** Completes a round in a browser as a person, and returns where it ends. */
  async complete(browser: Browser, start: URL, subject: string, cookies = new Map<string, string>()): Promise<string> {
    this.currentSubject = subject
    return browser.callback(await this.visit(start, cookies))
  }
}
