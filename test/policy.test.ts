import { afterAll, beforeAll, expect, it } from 'vitest'
import { routes } from '../server/rest/routes.ts'
import { schema } from '../server/schema.ts'
import { type Actor } from './actor.ts'
import { testApp, type TestApp } from './app.ts'
import { bodyFor, fieldQuery, pathFor } from './support/minimal-request.ts'

/** Who may: everybody; whoever signed in; a session; a credential with this scope; whoever may change their own account; the owner. */
type Access = 'open' | 'identity' | 'signedIn' | 'session' | 'ownAccount' | 'read' | 'write' | 'admin' | 'owner'

/** The interface's "Auth" and "Who" columns (4.1 to 4.12) and decisions §3 and §4, endpoint by endpoint. */
const rest: Record<string, Access> = {
  'GET /api/v1/health': 'open',
  'GET /api/v1/version': 'open',
  'GET /api/setup/status': 'open',
  'POST /api/setup/verify': 'open',
  'POST /api/setup/complete': 'open',
  'POST /api/auth/login': 'open',
  'POST /api/auth/logout': 'session',
  'POST /api/auth/signup': 'open',
  'POST /api/auth/confirm-password': 'session',
  'GET /api/auth/me': 'identity',
  'POST /api/auth/change-password': 'ownAccount',
  'PATCH /api/auth/profile': 'ownAccount',
  'POST /api/auth/avatar': 'ownAccount',
  'DELETE /api/auth/avatar': 'ownAccount',
  'GET /api/users/:userId/avatar': 'open',
  'GET /api/invites/:token': 'open',
  'POST /api/invites/:token/accept': 'open',
  'POST /api/auth/keys': 'ownAccount',
  'GET /api/auth/keys': 'ownAccount',
  'DELETE /api/auth/keys/:id': 'ownAccount',
  'POST /api/tokens/revoke': 'open',
  'GET /api/auth/sessions': 'ownAccount',
  'DELETE /api/auth/sessions/:id': 'ownAccount',
  'POST /api/auth/sessions/revoke-others': 'ownAccount',
  'GET /oauth/authorize': 'open',
  'GET /oauth/pending/:requestId': 'session',
  'POST /oauth/approve': 'session',
  'POST /oauth/deny': 'session',
  'POST /oauth/token': 'open',
  'GET /api/admin/users': 'admin',
  'GET /api/admin/users/:id': 'admin',
  'POST /api/admin/users': 'admin',
  'PUT /api/admin/users/:id': 'admin',
  'DELETE /api/admin/users/:id': 'admin',
  'POST /api/admin/users/:id/reset-password': 'admin',
  'POST /api/admin/transfer-ownership': 'owner',
  'GET /api/admin/audit-log': 'admin',
  'GET /api/admin/packages': 'admin',
  'DELETE /api/admin/packages/:pkg': 'admin',
  'DELETE /api/admin/packages/:pkg/versions/:version': 'admin',
  'GET /api/admin/reserved-names': 'admin',
  'DELETE /api/admin/reserved-names/:pkg': 'admin',
  'GET /api/admin/confusable-names': 'admin',
  'PUT /api/admin/confusable-names/:pkg': 'admin',
  'DELETE /api/admin/confusable-names/:pkg': 'admin',
  'GET /api/packages/versions/new': 'write',
  'POST /api/packages/versions/upload': 'write',
  'GET /api/packages/versions/newUploadFinish': 'write',
  'GET /api/packages/:pkg': 'read',
  'GET /api/packages/:pkg/versions/:version': 'read',
  'GET /api/packages/:pkg/versions/:version/content': 'read',
  'GET /api/packages/:pkg/versions/:version/dependencies': 'read',
  'GET /api/packages/:pkg/dependents': 'read',
  'GET /api/packages/:pkg/advisories': 'read',
  'GET /api/packages/:pkg/uploaders': 'read',
  'PUT /api/packages/:pkg/uploaders/:email': 'write',
  'DELETE /api/packages/:pkg/uploaders/:email': 'write',
  'GET /api/packages/:pkg/options': 'read',
  'PUT /api/packages/:pkg/options': 'write',
  'GET /api/packages/:pkg/versions/:version/options': 'read',
  'PUT /api/packages/:pkg/versions/:version/options': 'write',
  'GET /api/packages/:pkg/permissions': 'read',
  'GET /api/packages/:pkg/activity-log': 'read',
  'GET /api/archives/:file': 'read',
  'GET /packages/:pkg/versions/:version.tar.gz': 'read',
  'GET /api/packages/:pkg/versions/:version/archive.tar.gz': 'read',
  'GET /api/packages': 'read',
  'GET /api/package-names': 'read',
  'GET /api/package-name-completion-data': 'read',
  'GET /api/search': 'read',
  'GET /feed.atom': 'read',
  'GET /packages/:pkg/feed.atom': 'read',
  'GET /publishers/:id/feed.atom': 'read',
  'GET /packages/:pkg/badges/version.svg': 'read',
  'GET /packages/:pkg/badges/score.svg': 'read',
  'GET /packages/:pkg/badges/downloads.svg': 'read',
  'GET /api/admin/stats': 'admin',
  'GET /api/packages/:pkg/downloads': 'read',
  'GET /api/packages/:pkg/likes': 'read',
  'GET /api/packages/:pkg/score': 'read',
  'GET /api/packages/:pkg/versions/:version/score': 'read',
  'GET /api/packages/:pkg/versions/:version/scoring-report': 'read',
  'GET /api/account/likes': 'read',
  'PUT /api/account/likes/:pkg': 'read',
  'DELETE /api/account/likes/:pkg': 'read',
  'GET /api/legal/privacy': 'open',
  'GET /api/legal/terms': 'open',
  'PUT /api/admin/legal/privacy': 'owner',
  'PUT /api/admin/legal/terms': 'owner',
  'DELETE /api/admin/legal/privacy': 'owner',
  'DELETE /api/admin/legal/terms': 'owner',
  'GET /api/packages/:pkg/publisher': 'read',
  'PUT /api/packages/:pkg/publisher': 'write',
  'GET /api/publishers': 'read',
  'POST /api/publishers': 'admin',
  'GET /api/publishers/:id': 'read',
  'PUT /api/publishers/:id': 'write',
  'DELETE /api/publishers/:id': 'admin',
  'GET /api/publishers/:id/members': 'read',
  'PUT /api/publishers/:id/members/:userId': 'write',
  'DELETE /api/publishers/:id/members/:userId': 'write',
  'GET /api/publishers/:id/domain-check': 'read',
  'POST /api/publishers/:id/domain-check': 'write',
  'POST /api/publishers/verify/start': 'write',
  'POST /api/publishers/verify/complete': 'write',
  'GET /api/packages/:pkg/visibility': 'read',
  'PUT /api/packages/:pkg/visibility': 'write',
  'POST /api/packages/:pkg/visibility/preview': 'read',
  'GET /api/admin/public-packages': 'admin',
  'PUT /api/admin/public-packages': 'admin',
}

const graphql: Record<string, Access> = {
  'Query.viewer': 'open',
  'Query.me': 'identity',
  'Query.node': 'signedIn',
  'Query.nodes': 'signedIn',
  'Query.server': 'open',
  'Query.setup': 'open',
  'Query.health': 'open',
  'Query.invite': 'open',
  'Query.advisories': 'admin',
  'Query.serverStatistics': 'admin',
  'Query.legalDocument': 'open',
  'Query.legalPreview': 'owner',
  'Query.package': 'read',
  'Query.packages': 'read',
  'Query.packageNames': 'read',
  'Query.searchPackages': 'read',
  'Query.completePackageNames': 'read',
  'Query.publisher': 'read',
  'Query.publishers': 'read',
  'Query.completeSearch': 'read',
  'Query.likedPackages': 'read',
  'Query.pendingAuthorization': 'session',
  'Query.user': 'admin',
  'Query.users': 'admin',
  'Query.accessTokens': 'admin',
  'Query.sessions': 'admin',
  'Query.auditEntries': 'admin',
  'Query.publicPackages': 'admin',
  'Query.jobs': 'admin',
  'Query.selfCheck': 'admin',
  'Query.integrityReport': 'admin',
  'Query.managedPackages': 'admin',
  'Query.reservedNames': 'admin',
  'Query.confusableNames': 'admin',
  'Query.jobCounts': 'admin',
  'Mutation.freeName': 'admin',
  'Mutation.approveName': 'admin',
  'Mutation.rejectName': 'admin',
  'Mutation.checkPublisherDomain': 'write',
  'Mutation.verifySetupCode': 'open',
  'Mutation.completeSetup': 'open',
  'Mutation.login': 'open',
  'Mutation.logout': 'session',
  'Mutation.confirmPassword': 'session',
  'Mutation.signUp': 'open',
  'Mutation.acceptInvite': 'open',
  'Mutation.changePassword': 'ownAccount',
  'Mutation.updateProfile': 'ownAccount',
  'Mutation.removeAvatar': 'ownAccount',
  'Mutation.createToken': 'ownAccount',
  'Mutation.revokeToken': 'ownAccount',
  'Mutation.revokeTokenBySecret': 'open',
  'Mutation.revokeSession': 'ownAccount',
  'Mutation.revokeOtherSessions': 'ownAccount',
  'Mutation.approveAuthorization': 'session',
  'Mutation.denyAuthorization': 'session',
  'Mutation.likePackage': 'read',
  'Mutation.unlikePackage': 'read',
  'Mutation.createUpload': 'write',
  'Mutation.finalizeUpload': 'write',
  'Mutation.updateVersionOptions': 'write',
  'Mutation.updatePackageOptions': 'write',
  'Mutation.addUploader': 'write',
  'Mutation.removeUploader': 'write',
  'Mutation.setPackagePublisher': 'write',
  'Mutation.createPublisher': 'admin',
  'Mutation.updatePublisher': 'write',
  'Mutation.deletePublisher': 'admin',
  'Mutation.setPublisherMember': 'write',
  'Mutation.removePublisherMember': 'write',
  'Mutation.startDomainVerification': 'write',
  'Mutation.completeDomainVerification': 'write',
  'Mutation.createUser': 'admin',
  'Mutation.updateUser': 'admin',
  'Mutation.deleteUser': 'admin',
  'Mutation.resetPassword': 'admin',
  'Mutation.createInvite': 'admin',
  'Mutation.retryJob': 'admin',
  'Mutation.checkIntegrity': 'admin',
  'Mutation.deletePackage': 'admin',
  'Mutation.deleteVersion': 'admin',
  'Mutation.transferOwnership': 'owner',
  'Mutation.importAdvisories': 'admin',
  'Mutation.withdrawAdvisory': 'admin',
  'Mutation.removeAdvisory': 'admin',
  'Mutation.updateLegalDocument': 'owner',
  'Mutation.resetLegalDocument': 'owner',
  'Mutation.changeVisibility': 'write',
  'Mutation.updatePublicPackages': 'admin',
  'Mutation.revokeUserSession': 'admin',
  'Mutation.revokeUserSessions': 'admin',
  'Mutation.revokeUserToken': 'admin',
}

type Caller = { name: string; actor: Actor; allowed: readonly Access[] }
const known: Access[] = ['open', 'identity', 'signedIn']

async function callers(): Promise<Caller[]> {
  const [viewer, member, admin, owner] = [await app.viewer(), await app.member(), await app.admin(), await app.owner()]
  const scoped = async (actor: Actor, scope: 'read' | 'write' | 'admin') => app.withScopes(actor, [scope])
  return [
    { name: 'anonymous', actor: app.anonymous, allowed: ['open'] },
    { name: 'a wrong token', actor: app.withToken('svc_pat_wrong'), allowed: ['open'] },
    { name: 'viewer, session', actor: await viewer.session(), allowed: [...known, 'session', 'ownAccount', 'read'] },
    { name: 'viewer, token', actor: viewer, allowed: [...known, 'read'] },
    { name: 'member, token', actor: member, allowed: [...known, 'ownAccount', 'read', 'write'] },
    { name: 'member, session', actor: await (await app.member()).session(), allowed: [...known, 'session', 'ownAccount', 'read', 'write'] },
    { name: 'admin, token to read', actor: await scoped(admin, 'read'), allowed: [...known, 'read'] },
    { name: 'admin, token to write', actor: await scoped(admin, 'write'), allowed: [...known, 'ownAccount', 'read', 'write'] },
    {
      name: 'admin, token to administer',
      actor: await scoped(admin, 'admin'),
      allowed: [...known, 'ownAccount', 'read', 'write', 'admin'],
    },
    {
      name: 'admin, session',
      actor: await (await app.admin()).session(),
      allowed: [...known, 'session', 'ownAccount', 'read', 'write', 'admin'],
    },
    // Before the owner's tokens: one of the endpoints ends every other session.
    {
      name: 'owner, session',
      actor: await owner.session(),
      allowed: [...known, 'session', 'ownAccount', 'read', 'write', 'admin', 'owner'],
    },
    { name: 'owner, token to write', actor: await scoped(owner, 'write'), allowed: [...known, 'ownAccount', 'read', 'write'] },
    { name: 'owner, token', actor: owner, allowed: [...known, 'ownAccount', 'read', 'write', 'admin', 'owner'] },
  ]
}

let app: TestApp
beforeAll(async () => {
  app = await testApp({ env: { SIGNUP_ENABLED: 'true', PUBLIC_PACKAGES_ENABLED: 'true' } })
})
afterAll(() => app[Symbol.asyncDispose]())
const anybody = new Set(['anonymous', 'a wrong token'])
const refusalOf = (name: string) => (anybody.has(name) ? 'MissingAuthentication' : 'InsufficientPermissions')

it('names every REST endpoint in the policy table', () => {
  expect(routes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(Object.keys(rest).toSorted())
})

it('names every GraphQL root field in the policy table', () => {
  const fields = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
    Object.keys(type?.getFields() ?? {}).map((field) => `${type?.name}.${field}`),
  )
  expect(fields.toSorted()).toEqual(Object.keys(graphql).toSorted())
})

it.each(Object.entries(rest))('%s is for %s', async (endpoint, access) => {
  const [method = '', path = ''] = endpoint.split(' ')
  const route = routes.find((one) => one.method === method && one.path === path)
  for (const { name, actor, allowed } of await callers()) {
    const answer = await actor.send(method as 'GET', pathFor(path), route && bodyFor(schema, route), { ip: app.address() })
    const refused = answer.status === 401 || (answer.status === 403 && answer.body.error?.code === 'InsufficientPermissions')
    // A login with a wrong password is 401 for a reason of its own.
    const own = endpoint === 'POST /api/auth/login' && answer.status === 401
    // A token that does not work is told so everywhere but where none is looked at.
    const useless = name === 'a wrong token' && !route?.anyCredential && !own
    expect({ name, refused: refused && !own, status: answer.status }).toMatchObject({ name, refused: useless || !allowed.includes(access) })
    if (refused && !own) expect({ name, code: answer.body.error.code }).toEqual({ name, code: refusalOf(name) })
    expect(answer.status).not.toBe(500)
  }
})

it.each(Object.entries(graphql))('%s is for %s', async (field, access) => {
  for (const { name, actor, allowed } of await callers()) {
    const { body } = await actor.graphql(fieldQuery(schema, field), {}, { ip: app.address() })
    const code: string | undefined = body.errors?.[0].extensions.code
    const own = field === 'Mutation.login' && code === 'MissingAuthentication'
    const refused = (code === 'MissingAuthentication' || code === 'InsufficientPermissions') && !own
    const useless = name === 'a wrong token' && !own
    expect({ name, code, refused }).toMatchObject({ name, refused: useless || !allowed.includes(access) })
    if (refused) expect({ name, code }).toEqual({ name, code: refusalOf(name) })
    expect(code).not.toBe('InternalError')
  }
})
