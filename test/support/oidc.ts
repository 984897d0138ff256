import { Actor, type Answer } from '../actor.ts'
import type { TestApp } from '../app.ts'
import type { StubIssuer } from './stub-issuer.ts'

/** Returns the environment of a server with the provider `acme`, or another one. */
export const providerEnv = ({ issuer }: { issuer: string }, name = 'ACME'): Record<string, string> => ({
  [`OIDC_${name}_ISSUER`]: issuer,
  [`OIDC_${name}_CLIENT_ID`]: 'snug',
  [`OIDC_${name}_CLIENT_SECRET`]: 'the secret of this server at the provider',
  [`OIDC_${name}_GROUPS_CLAIM`]: 'groups',
})

/** The claims of a person, in addition to the standard ones of ID tokens. */
export type PersonClaims = { sub: string } & Record<string, unknown>

/** A browser with cookies. */
export class Browser {
  cookies: Record<string, string>
  private readonly app: TestApp
  private readonly ip: string

  constructor(app: TestApp, cookies: Record<string, string> = {}) {
    this.app = app
    this.cookies = { ...cookies }
    this.ip = app.address()
  }

  get actor(): Actor {
    return new Actor(this.app.http, { cookies: this.cookies, ip: this.ip })
  }

  get = async (url: string): Promise<Answer> => this.keep(await this.actor.get(url))
  post = async (url: string, body?: unknown): Promise<Answer> => this.keep(await this.actor.post(url, body))

  /** Runs a mutation with an input, and returns its payload, or the first error. */
  async mutate(name: string, input: object, selection: string) {
    const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
    const answer = this.keep(await this.actor.graphql(`mutation ($input: ${type}!) { ${name}(input: $input) { ${selection} } }`, { input }))
    return answer.body.errors?.[0] ?? answer.body.data[name]
  }

  /** Starts a sign-in, and returns the URL at the provider. */
  async start(path = '/auth/oidc/acme'): Promise<URL> {
    const answer = await this.get(path)
    if (answer.status !== 302) throw new Error(`No redirect: ${answer.status} ${JSON.stringify(answer.body)}`)
    return new URL(String(answer.headers.location))
  }

  /** Sends the callback of a provider, and returns where it redirects to, without the address of the server. */
  async callback(parameters: Record<string, string>, name = 'acme'): Promise<string> {
    const answer = await this.get(`/auth/oidc/${name}/callback?${new URLSearchParams(parameters)}`)
    if (answer.status !== 302) throw new Error(`No redirect: ${answer.status} ${JSON.stringify(answer.body)}`)
    return String(answer.headers.location).replace('http://localhost:8080', '')
  }

  /** Completes a round at a stub as a person, and returns where it ends. */
  async finish(stub: StubIssuer, at: URL, person: PersonClaims, name = 'acme'): Promise<string> {
    const state = at.searchParams.get('state') ?? ''
    return this.callback({ state, code: stub.code(claimsFor(stub, at, person)) }, name)
  }

  /** Signs in as a person, and returns where the round ends. */
  signIn = async (stub: StubIssuer, person: PersonClaims, path?: string): Promise<string> =>
    this.finish(stub, await this.start(path), person)

  /** Returns the signed-in user, or null. */
  async viewer(): Promise<{ email: string; role: string; displayName: string; hasPassword: boolean } | null> {
    return (await this.actor.graphql('{ viewer { email role displayName hasPassword } }')).body.data.viewer
  }

  private keep(answer: Answer): Answer {
    for (const { name, value } of answer.cookies) {
      if (value === '') delete this.cookies[name]
      else this.cookies[name] = value
    }
    return answer
  }
}

/** Returns the claims of a valid ID token for a round. */
export function claimsFor({ issuer }: StubIssuer, at: URL, person: PersonClaims): Record<string, unknown> & { sub: string } {
  const now = Math.floor(Date.now() / 1000)
  return { iss: issuer, aud: 'snug', iat: now, exp: now + 300, nonce: at.searchParams.get('nonce') ?? '', ...person }
}

/** Signs a member in with the password. */
export async function signedIn(
  app: TestApp,
  role: 'viewer' | 'member' | 'admin' | 'owner' = 'member',
): Promise<Browser & { email: string }> {
  const person = await (role === 'owner' ? app.owner() : app.person(role))
  return Object.assign(new Browser(app, (await person.session()).cookies), { email: person.email })
}
