import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { publicApp, makePublic } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { acme, team } from '../support/publishers.ts'

const query = `query ($name: String!) {
  package(name: $name) { publishAccess { uploaders { email } memberCount members { email } publisher { slug contactEmail } } }
}`

interface Access {
  uploaders: { email: string }[]
  memberCount: number
  members: { email: string }[] | null
  publisher: { slug: string; contactEmail: string | null } | null
}

async function accessFor(actor: Actor, name = 'kit') {
  const { body } = await actor.graphql(query, { name })
  const { uploaders, members, ...rest } = body.data.package.publishAccess as Access
  const emails = (people: { email: string }[]) => people.map(({ email }) => email).toSorted()
  return { ...rest, uploaders: emails(uploaders), members: members && emails(members) }
}

it('lists the uploaders for everyone who is signed in, viewers included', async () => {
  await using people = await team()
  const { app, alice, eve } = people
  await publish(alice, { name: 'kit', version: '1.0.0' })
  const expected = { uploaders: [alice.email], memberCount: 0, members: null, publisher: null }
  for (const actor of [alice, eve, await app.viewer(), people.root]) expect(await accessFor(actor)).toEqual(expected)
})

it('counts the members of the publisher for everyone, and names them only for members and administrators', async () => {
  await using people = await team()
  const { app, root, alice, bob, eve } = people
  await root.put('/api/publishers/acme', { ...acme, contactEmail: 'sea@acme.example' })
  await publish(alice, { name: 'kit', version: '1.0.0' })
  expect(await alice.put('/api/packages/kit/publisher', { publisherId: 'acme' })).toMatchObject({ status: 200 })
  const expected = { uploaders: [alice.email], memberCount: 3, publisher: { slug: 'acme', contactEmail: 'sea@acme.example' } }
  const names = [root.email, alice.email, bob.email].toSorted() // who creates a publisher is its first admin
  for (const actor of [alice, bob, root]) expect(await accessFor(actor)).toEqual({ ...expected, members: names })
  for (const actor of [eve, await app.viewer()]) expect(await accessFor(actor)).toEqual({ ...expected, members: null })
})

it('omits accounts that cannot publish: disabled ones, and those with the role viewer', async () => {
  await using people = await team()
  const { root, alice, bob, eve } = people
  await publish(alice, { name: 'kit', version: '1.0.0' })
  await alice.put(`/api/packages/kit/uploaders/${eve.email}`)
  await alice.put('/api/packages/kit/publisher', { publisherId: 'acme' })
  expect(await accessFor(root)).toMatchObject({ uploaders: [alice.email, eve.email].toSorted(), memberCount: 3 })
  expect((await root.put(`/api/admin/users/${bob.id}`, { isActive: false })).status).toBe(200)
  expect((await root.put(`/api/admin/users/${eve.id}`, { role: 'viewer' })).status).toBe(200)
  expect(await accessFor(root)).toMatchObject({ uploaders: [alice.email], memberCount: 2, members: [root.email, alice.email].toSorted() })
})

it('is refused without signing in, for public packages too, and hides private packages', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['kit', 'secret']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'kit')
  const answer = await app.anonymous.graphql(query, { name: 'kit' })
  expect(answer.body.errors[0].extensions.code).toBe('MissingAuthentication')
  expect(JSON.stringify(answer.body)).not.toContain(alice.email)
  expect((await app.anonymous.graphql(query, { name: 'secret' })).body).toMatchObject({ data: { package: null } })
})

it('costs the same number of statements for a list of packages as for one', async () => {
  await using people = await team()
  const { app, alice } = people
  for (const name of ['kit', 'kit_a', 'kit_b']) {
    await publish(alice, { name, version: '1.0.0' })
    await alice.put(`/api/packages/${name}/publisher`, { publisherId: 'acme' })
  }
  const fields = 'publishAccess { uploaders { id } memberCount members { id } publisher { slug } }'
  const ask = (first: number) => app.countQueries(() => alice.graphql(`{ packages(first: ${first}) { nodes { ${fields} } } }`))
  await ask(1)
  expect(await ask(3)).toBe(await ask(1))
})
