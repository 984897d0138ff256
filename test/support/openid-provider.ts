import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
// @ts-expect-error -- the package has no types
import { Provider } from 'oidc-provider'

/** The claims of a person, besides the subject. */
type Claims = { email?: string; email_verified?: boolean; name?: string; groups?: string[] }

/** An OpenID provider (oidc-provider) for the browser. It asks for no password, and signs in the subject that is set as `person`. */
export class OpenIdProvider implements AsyncDisposable {
  readonly issuer: string
  /** The subject of the person who signs in next. Null if the person cancels. */
  person: string | null = 'ada'
  readonly people: Record<string, Claims> = {}
  private readonly stop: () => Promise<void>

  private constructor(issuer: string, stop: () => Promise<void>) {
    this.issuer = issuer
    this.stop = stop
  }

  static async start(): Promise<OpenIdProvider> {
    const server = createServer()
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const stop = async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const running = new OpenIdProvider(issuer, stop)
    const provider = new (Provider as new (issuer: string, options: object) => Library)(issuer, running.configuration())
    provider.Client.prototype.redirectUriAllowed = () => true
    provider.Client.prototype.postLogoutRedirectUriAllowed = () => true
    const answer = provider.callback()
    server.on('request', (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return answer(request, response)
      const { person } = running
      const result = person === null ? { error: 'access_denied' } : { login: { accountId: person } }
      void provider.interactionFinished(request, response, result)
    })
    return running
  }

  /** The environment of a server that has it as the provider `acme`. */
  get env(): Record<string, string> {
    return {
      OIDC_ACME_ISSUER: this.issuer,
      OIDC_ACME_CLIENT_ID: 'snug',
      OIDC_ACME_CLIENT_SECRET: secret,
      OIDC_ACME_LABEL: 'Acme account',
      OIDC_ACME_SCOPES: 'openid email profile groups',
      OIDC_ACME_GROUPS_CLAIM: 'groups',
    }
  }

  [Symbol.asyncDispose] = (): Promise<void> => this.stop()

  private configuration(): Record<string, unknown> {
    return {
      clients: [{ client_id: 'snug', client_secret: secret, redirect_uris: ['http://localhost/callback'] }],
      cookies: { keys: ['a key for tests'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_request: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      findAccount: (_request: unknown, accountId: string) => ({
        accountId,
        claims: () => ({ sub: accountId, ...this.people[accountId] }),
      }),
      async loadExistingGrant({ oidc }: Request) {
        const grant = new oidc.provider.Grant({ accountId: oidc.session.accountId, clientId: oidc.client.clientId })
        grant.addOIDCScope('openid email profile groups')
        await grant.save()
        return grant
      },
    }
  }
}

const secret = 'the secret of this server at the provider'

/** The interface of `oidc-provider` that is used here. */
type Library = {
  Client: { prototype: { redirectUriAllowed: () => boolean; postLogoutRedirectUriAllowed: () => boolean } }
  Grant: new (of: { accountId: string; clientId: string }) => { addOIDCScope(scopes: string): void; save(): Promise<string> }
  callback(): RequestListener
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
}

type Request = { oidc: { provider: Library; session: { accountId: string }; client: { clientId: string } } }
