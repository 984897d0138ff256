import type { Actor } from '../actor.ts'
import { testApp, type TestOptions } from '../app.ts'
import { publishArchive } from './publish.ts'
import { githubClaims, TokenIssuer } from './token-issuer.ts'

/** Starts a server with an issuer, and a member who can add rules to their packages. `hosts` may have private addresses, too. */
export async function trustedApp({ hosts = [], ...options }: TestOptions & { hosts?: string[] } = {}) {
  const issuer = await TokenIssuer.start()
  const app = await testApp({ ...options, env: { TOKEN_ISSUER_HOSTS: [issuer.host, ...hosts].join(), ...options.env } })
  const [admin, member] = [await app.admin(), await app.member()]
  const addIssuer = async (preset = 'github', path = 'ci'): Promise<string> => {
    const answer = await admin.post('/api/token-issuers', {
      name: 'GitHub Actions',
      issuerUrl: issuer.url(path),
      preset: preset.toUpperCase(),
    })
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
    return answer.body.id as string
  }
  const tokenIssuerId = await addIssuer()
  const addRule = async (rule: object, target = '/api/packages/acme_ui', actor: Actor = member): Promise<string> => {
    const answer = await actor.post(`${target}/trusted-publishers`, { tokenIssuerId, ...rule })
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
    return answer.body.id as string
  }
  const job = async (claims: object = {}, signing?: Parameters<TokenIssuer['token']>[2]): Promise<Actor> =>
    app.withToken(await issuer.token(app, { ...githubClaims, ...claims }, signing))
  return {
    app,
    issuer,
    admin,
    member,
    tokenIssuerId,
    addIssuer,
    addRule,
    job,
    [Symbol.asyncDispose]: async () => {
      await app[Symbol.asyncDispose]()
      await issuer[Symbol.asyncDispose]()
    },
  }
}

/** Publishes an archive. Returns the answer of the step that fails, if one does. */
export async function tryPublish(actor: Actor, archive: Buffer) {
  const announced = await actor.get('/api/packages/versions/new')
  return announced.status === 200 ? publishArchive(actor, archive) : announced
}
