import { encodeGlobalID } from '@pothos/plugin-relay'
import { expect, it } from 'vitest'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import { testApp, type TestApp } from '../app.ts'
import { publish } from '../support/publish.ts'

async function queueJob({ services }: TestApp, subject = 'a'): Promise<string> {
  const id = await services.database.fork().transactional((inner) => enqueue(inner, { kind: 'task', subject }, services.now()))
  return encodeGlobalID('Job', id)
}

it('answers mutations without a selection as the previous release did', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await publish(admin, { name: 'icons', version: '1.0.0' })
  const ask = async (mutation: string) => (await admin.graphql(`mutation { ${mutation} }`)).body
  expect(await ask('clearScoringLog')).toMatchObject({ data: { clearScoringLog: true } })
  expect(await ask('check: checkIntegrity')).toMatchObject({ data: { check: expect.stringMatching(/^[0-9a-f-]{36}$/) } })
  expect(await ask('rescoreAllVersions')).toMatchObject({ data: { rescoreAllVersions: expect.any(Number) } })
  expect(await ask('gone: deletePackage(input: { package: "icons" })')).toMatchObject({ data: { gone: true } })
  expect(await ask('deletePackage(input: { package: "icons" })')).toMatchObject({
    data: null,
    errors: [{ extensions: { code: 'NotFound' } }],
  })
  expect((await (await admin.session()).graphql('mutation Leave { ...Out } fragment Out on Mutation { logout }')).body.data).toEqual({
    logout: true,
  })
})

it('answers chains of dependencies without a selection as lists of names', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await publish(admin, { name: 'icons', version: '1.0.0' })
  const query = '{ package(name: "icons") { before: brokenByDeletion after: brokenByDeletion { names } likeCount } }'
  expect((await admin.graphql(query)).body.data).toEqual({ package: { before: [], after: [], likeCount: 0 } })
})

it('accepts former names of ids and filters', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  for (const name of ['icons', 'widgets']) await publish(admin, { name, version: '1.0.0' })
  const [former, current] = [await queueJob(app, 'a'), await queueJob(app, 'b')]
  const cancel = 'mutation ($input: CancelJobInput!) { cancelJob(input: $input) { jobId } }'
  expect((await admin.graphql(cancel, { input: { id: former } })).body).toMatchObject({ data: { cancelJob: { jobId: former } } })
  expect((await admin.graphql(cancel, { input: { jobId: current } })).body).toMatchObject({ data: { cancelJob: { jobId: current } } })
  for (const filter of ['q: "ico"', 'query: "ico"'])
    expect((await admin.graphql(`{ managedPackages(first: 5, ${filter}) { totalCount } }`)).body.data.managedPackages.totalCount).toBe(1)
  for (const filter of ['prefix: "wid"', 'query: "wid"'])
    expect((await admin.graphql(`{ completePackageNames(first: 5, ${filter}) }`)).body.data.completePackageNames).toEqual(['widgets'])
  for (const order of ['sort: NAME', 'orderBy: NAME'])
    expect((await admin.graphql(`{ searchPackages(first: 1, ${order}) { nodes { name } } }`)).body.data.searchPackages.nodes).toEqual([
      { name: 'icons' },
    ])
  for (const user of [`email: "${admin.email}"`, `uuid: "${admin.id}"`, `by: { email: "${admin.email}" }`, `by: { uuid: "${admin.id}" }`])
    expect((await admin.graphql(`{ user(${user}) { email } }`)).body.data.user).toEqual({ email: admin.email })
})

it('rejects missing values, both names at once, and ids of other types', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const job = await queueJob(app)
  const user = encodeGlobalID('User', admin.id)
  for (const [input, field] of [
    ['{}', 'jobId'],
    ['{ jobId: null }', 'jobId'],
    [`{ jobId: "${job}", id: "${job}" }`, 'jobId'],
    [`{ id: "${user}" }`, 'id'],
    [`{ jobId: "${user}" }`, 'jobId'],
  ]) {
    const { body } = await admin.graphql(`mutation { cancelJob(input: ${input}) { jobId } }`)
    expect({ input, ...body }).toMatchObject({ input, data: null, errors: [{ extensions: { code: 'InvalidInput', field } }] })
  }
})

it.each(['{}', '{ email: "a@example.com", uuid: "x" }', '{ email: null }'])('rejects the reference %s to a user', async (reference) => {
  await using app = await testApp()
  const admin = await app.admin()
  const wrong = [{ message: 'by: must have exactly one of its fields.', extensions: { code: 'InvalidInput', field: 'by' } }]
  expect((await admin.graphql(`{ user(by: ${reference}) { id } }`)).body.errors).toMatchObject(wrong)
  const by = JSON.parse(reference.replaceAll(/(\w+):/g, '"$1":'))
  expect((await admin.graphql('query ($by: UserReference) { user(by: $by) { id } }', { by })).body.errors).toMatchObject(wrong)
})

it('leaves the fields next to a refused one', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const viewer = await app.viewer()
  for (const field of [
    'brokenByDeletion { names }',
    'affectedByDeletion(first: 1) { totalCount }',
    'visibilityState { visibility }',
    'visibilityPreview(input: { visibility: PUBLIC }) { visibility }',
    'activity(first: 1) { totalCount }',
  ]) {
    const { body } = await viewer.graphql(`{ package(name: "acme") { name refused: ${field} } }`)
    expect({ field, ...body }).toMatchObject({ field, data: { package: { name: 'acme', refused: null } } })
    expect(body.errors).toMatchObject([{ path: ['package', 'refused'], extensions: { code: 'InsufficientPermissions' } }])
  }
})
