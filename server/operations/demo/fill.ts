import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { buffer } from 'node:stream/consumers'
import { type DemoPackage, demoPackages, emailOf, people, publishers } from './catalog.ts'
import { filesOf, type Files, hasPictures, screenshotPath, screenshotSize } from './files.ts'
import { createRandom, type Random, seedOf } from './random.ts'
import { planReleases, type Release } from './releases.ts'
import sharp from 'sharp'

/** Access to a server whose clock can be set. */
export type DemoServer = {
  serverUrl: string
  password: string
  /** Whether packages can be made public. */
  allowsPublic: boolean
  /** Sets the clock of the server. */
  setTime(time: Date): void
  /** Creates the owner. */
  createOwner(email: string, displayName: string): Promise<void>
  /** Signs a person in with their password. */
  signIn(email: string): Promise<void>
  /** Signs a person in with their password and returns the secret of a new token. */
  createToken(email: string): Promise<string>
  /** Sends a request. Returns the parsed answer. Throws if the server rejects it. */
  request(secret: string | null, method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<Record<string, unknown>>
  /** Uploads an archive to a path that the server named. */
  upload(secret: string, path: string, archive: Buffer): Promise<void>
  /** Reports progress. */
  report(text: string): void
}

type Person = { id: string; email: string; secret: string }

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/**
 * Fills an empty server through its API, as people would over a year until `end`: accounts, publishers, packages with several hundred versions,
 * likes, retractions, advisories and sign-ins. Returns the releases.
 */
export async function fillServer(server: DemoServer, end: Date): Promise<Release[]> {
  const packages = demoPackages()
  const releases = planReleases(packages, end)
  const start = (releases[0]?.at ?? end).getTime() - 14 * dayMs
  server.setTime(new Date(start))
  const persons = await createPeople(server)
  await createPublishers(server, persons)
  await publishAll(server, persons, releases)
  server.setTime(new Date(end.getTime() - 2 * dayMs))
  await changeOptions(server, persons)
  await likeAll(server, persons, packages, end)
  await importAdvisories(server, persons, releases)
  await signInLately(server, end)
  return releases
}

async function createPeople(server: DemoServer): Promise<Person[]> {
  const { password } = server
  const [owner, ...others] = people
  await server.createOwner(emailOf(owner.name), owner.name)
  const first = await personOf(server, owner.name)
  const persons = [first]
  for (const { name, role } of others) {
    const invitation = { email: emailOf(name), displayName: name, role, mode: 'invite' }
    const { inviteUrl } = await server.request(first.secret, 'POST', '/api/admin/users', invitation)
    await server.request(null, 'POST', `/api/invites/${String(inviteUrl).split('/').at(-1)}/accept`, { password })
    persons.push(await personOf(server, name))
  }
  return persons
}

async function personOf(server: DemoServer, name: string): Promise<Person> {
  const email = emailOf(name)
  const secret = await server.createToken(email)
  const { userId } = await server.request(secret, 'GET', '/api/auth/me')
  return { id: String(userId), email, secret }
}

/** After how many days people who publish sign in again. */
const signInDays = 30

/** Signs everyone in during the last day, except the last person, who has not been back since the invitation. */
async function signInLately(server: DemoServer, end: Date): Promise<void> {
  for (const [index, { name }] of people.slice(0, -1).entries()) {
    server.setTime(new Date(end.getTime() - (people.length - index) * hourMs))
    await server.signIn(emailOf(name))
  }
}

/** Creates the publishers as the owner, who is an administrator of each, and adds the others. */
async function createPublishers(server: DemoServer, persons: readonly Person[]): Promise<void> {
  const [owner] = persons
  if (!owner) return
  for (const { id, name, about } of publishers) {
    const details = { id, displayName: name, description: about, contactEmail: `${id}@harbor.example` }
    await server.request(owner.secret, 'POST', '/api/publishers', details)
    const admin = ownerOf(persons, id)
    if (admin !== owner) await server.request(owner.secret, 'PUT', `/api/publishers/${id}/members/${admin.id}`, { role: 'admin' })
    for (const member of persons.slice(5, 10).filter((_, index) => (index + id.length) % 2 === 0))
      await server.request(owner.secret, 'PUT', `/api/publishers/${id}/members/${member.id}`, { role: 'member' })
  }
}

/** Returns the administrator of a publisher, or a member for packages without one. */
function ownerOf(persons: readonly Person[], publisher: string | null): Person {
  const index = people.findIndex((one) => publisher !== null && one.publishers.some((id) => id === publisher))
  const found = persons[index === -1 ? 6 : index]
  if (!found) throw new Error(`No one administers ${publisher}.`)
  return found
}

async function publishAll(server: DemoServer, persons: readonly Person[], releases: readonly Release[]): Promise<void> {
  const pictures = new Map<string, Buffer>()
  const published = new Map<string, Release[]>()
  const signedIn = new Map<Person, number>()
  for (const [index, release] of releases.entries()) {
    const { pkg, version, at } = release
    const history = [...(published.get(pkg.name) ?? []), release]
    published.set(pkg.name, history)
    if (hasPictures(release) && !pictures.has(pkg.name)) pictures.set(pkg.name, await drawScreenshot(pkg))
    const picture = pictures.get(pkg.name)
    const files = { ...filesOf(release, history, server.serverUrl), ...(picture && { [screenshotPath]: picture }) }
    const person = ownerOf(persons, pkg.publisher)
    const { secret } = person
    server.setTime(at)
    if (at.getTime() - (signedIn.get(person) ?? 0) > signInDays * dayMs) {
      await server.signIn(person.email)
      signedIn.set(person, at.getTime())
    }
    await publish(server, secret, await archiveOf(files))
    if (history.length === 1 && pkg.publisher)
      await server.request(secret, 'PUT', `/api/packages/${pkg.name}/publisher`, { publisherId: pkg.publisher })
    if (release.isRetracted) {
      server.setTime(new Date(at.getTime() + 2 * hourMs))
      await server.request(secret, 'PUT', `/api/packages/${pkg.name}/versions/${version}/options`, { isRetracted: true })
    }
    if ((index + 1) % 50 === 0 || index + 1 === releases.length) server.report(`Published ${index + 1} of ${releases.length} versions.`)
  }
}

/** Publishes an archive with the three requests of the pub client. */
async function publish(server: DemoServer, secret: string, archive: Buffer): Promise<void> {
  const { fields } = await server.request(secret, 'GET', '/api/packages/versions/new')
  const id = String((fields as Record<string, unknown>)['upload_id'])
  await server.upload(secret, `/api/packages/versions/upload?upload_id=${id}`, archive)
  await server.request(secret, 'GET', `/api/packages/versions/newUploadFinish?upload_id=${id}`)
}

async function archiveOf(files: Files): Promise<Buffer> {
  const archive = pack()
  for (const [name, content] of Object.entries(files)) archive.entry({ name, mode: 0o644 }, content)
  archive.finalize()
  return promisify(gzip)(await buffer(archive))
}

async function changeOptions(server: DemoServer, persons: readonly Person[]): Promise<void> {
  const [owner] = persons
  if (!owner) return
  const options = (name: string, change: object) => server.request(owner.secret, 'PUT', `/api/packages/${name}/options`, change)
  await options('harbor_legacy_auth', { isDiscontinued: true, replacedBy: 'harbor_auth' })
  await options('harbor_reviews', { isUnlisted: true })
  if (!server.allowsPublic) return
  await server.request(owner.secret, 'PUT', '/api/admin/public-packages', { enabled: true })
  for (const name of ['harbor_lints', 'harbor_core', 'harbor_tokens', 'harbor_json', 'harbor_geo', 'harbor_money'])
    await server.request(owner.secret, 'PUT', `/api/packages/${name}/visibility`, { visibility: 'public', confirm: name })
}

async function likeAll(server: DemoServer, persons: readonly Person[], packages: readonly DemoPackage[], end: Date): Promise<void> {
  const random = createRandom(7)
  for (const { name, weight } of packages)
    for (const { secret } of persons) {
      if (random.next() * 110 > weight) continue
      server.setTime(new Date(end.getTime() - random.next() * dayMs))
      await server.request(secret, 'PUT', `/api/account/likes/${name}`)
    }
}

const advisories = [
  {
    name: 'harbor_http',
    id: 'HARBOR-2026-0001',
    severity: 'HIGH',
    summary: 'Credentials are sent to the target of a cross-origin redirect',
  },
  { name: 'harbor_crypto', id: 'HARBOR-2026-0002', severity: 'CRITICAL', summary: 'Signatures of empty messages are accepted' },
  { name: 'harbor_media', id: 'HARBOR-2026-0003', severity: 'MODERATE', summary: 'Images of unlimited size exhaust memory' },
]

async function importAdvisories(server: DemoServer, [owner]: readonly Person[], releases: readonly Release[]): Promise<void> {
  const documents = advisories.map(({ name, id, severity, summary }) => {
    const versions = releases.filter(({ pkg, version }) => pkg.name === name && !version.includes('-'))
    const fixed = versions[Math.ceil(versions.length / 2)] ?? versions.at(-1)
    return {
      id,
      summary,
      modified: fixed?.at.toISOString(),
      published: fixed?.at.toISOString(),
      details: `Upgrade to ${fixed?.version}. Earlier versions are affected.`,
      database_specific: { severity },
      affected: [
        {
          package: { ecosystem: 'Pub', name },
          ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: fixed?.version }] }],
        },
      ],
    }
  })
  const query = 'mutation ($osv: String!) { importAdvisories(input: { osv: $osv }) { imported } }'
  await server.request(owner?.secret ?? null, 'POST', '/graphql', { query, variables: { osv: JSON.stringify(documents) } })
}

/** Draws the screenshot of a package: two phones with a made-up interface, as PNG. Contains no text, because a server may have no fonts. */
async function drawScreenshot({ name, weight }: DemoPackage): Promise<Buffer> {
  const random = createRandom(seedOf(name) + weight)
  const hue = random.between(0, 359)
  const { width, height } = screenshotSize
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
<defs><linearGradient id="back" x1="0" y1="0" x2="1" y2="1"><stop offset="0" stop-color="${hsl(hue, 60, 88)}"/><stop offset="1" stop-color="${hsl(hue + 40, 60, 78)}"/></linearGradient></defs>
<rect width="${width}" height="${height}" fill="url(#back)"/>
${phone(180, hue, false, random)}${phone(540, hue, true, random)}</svg>`
  return sharp(Buffer.from(svg)).png({ palette: true, colours: 64, compressionLevel: 9 }).toBuffer()
}

/** Draws a phone whose left edge is at `left`. */
function phone(left: number, hue: number, isDark: boolean, random: Random): string {
  const [screen, card, line] = isDark
    ? [hsl(hue, 25, 13), hsl(hue, 20, 20), hsl(hue, 12, 42)]
    : ['#ffffff', hsl(hue, 40, 96), hsl(hue, 14, 78)]
  const rows = Array.from({ length: 5 }, (_, row) => {
    const top = 170 + row * 74
    return `<rect x="${left + 22}" y="${top}" width="196" height="60" rx="12" fill="${card}"/>
<circle cx="${left + 50}" cy="${top + 30}" r="16" fill="${hsl(hue + row * 24, 62, isDark ? 58 : 50)}"/>
<rect x="${left + 78}" y="${top + 16}" width="${random.between(60, 120)}" height="10" rx="5" fill="${line}"/>
<rect x="${left + 78}" y="${top + 36}" width="${random.between(40, 90)}" height="8" rx="4" fill="${line}" opacity="0.6"/>`
  })
  return `<rect x="${left - 6}" y="34" width="252" height="552" rx="38" fill="#16191d"/>
<rect x="${left}" y="40" width="240" height="540" rx="32" fill="${screen}"/>
<rect x="${left + 22}" y="72" width="120" height="16" rx="8" fill="${line}"/>
<rect x="${left + 22}" y="104" width="196" height="48" rx="14" fill="${hsl(hue, 66, isDark ? 52 : 44)}"/>
${rows.join('\n')}`
}

const hsl = (hue: number, saturation: number, lightness: number): string => `hsl(${hue % 360},${saturation}%,${lightness}%)`
