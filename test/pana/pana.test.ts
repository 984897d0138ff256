import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AnalysisNeedsFlutter, PanaFailed } from '../../server/analysis/pana/to-report.ts'
import { readablePackages } from '../../server/analysis/pana/invocation.ts'
import { withJobToken } from '../../server/accounts/tokens/job-token.ts'
import { type TestApp, testApp } from '../app.ts'
import { writeDownloads } from '../support/downloads.ts'
import { attackFiles, analyzeWithFakePana, versionOf } from '../support/fake-pana.ts'
import { makePublic } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { recordedReport } from '../support/recorded-report.ts'

/** Returns the folders of jobs without the lock file of the process. */
const jobs = (app: TestApp) => readdirSync(join(app.config.DATA_DIR, 'jobs')).filter((name) => !name.endsWith('.lock'))

describe('analyses of a version by pana', () => {
  it('report in the wording of this server, without criteria that private packages cannot meet', async () => {
    await using app = await testApp()
    const { report, log } = await analyzeWithFakePana(app, {})
    expect(report).toMatchObject({
      engine: { name: 'pana', version: '0.23.18, Dart 3.11.0' },
      documented: { documented: 246, total: 263 },
      notMeasured: [{ id: 'urls' }, { id: 'license' }],
    })
    const points = report.sections.map(({ id, granted, maximum, status }) => [id, granted, maximum, status])
    expect(points).toEqual([
      ['convention', 20, 20, 'passed'],
      ['documentation', 10, 20, 'partial'],
      ['platform', 20, 20, 'passed'],
      ['analysis', 50, 50, 'passed'],
      ['dependency', 40, 40, 'passed'],
    ])
    expect(report.sections[1]?.criteria[1]).toEqual({
      id: 'example',
      title: 'Package has an example',
      granted: 0,
      maximum: 10,
      reason: 'No example found.',
      remedy: 'See [package layout](https://dart.dev/tools/pub/package-layout#examples) guidelines on how to add an example.',
    })
    expect(report.tags).toContain('platform:web')
    expect(report.sizes.length).toBeGreaterThan(0)
    expect(log).toContain('INFO: Running `dart pub get`...')
    expect(jobs(app)).toEqual([])
  })

  it('require public packages to meet the public criteria', async () => {
    await using app = await testApp()
    const { report } = await analyzeWithFakePana(app, {}, { isPrivate: false })
    expect(report.notMeasured).toEqual([])
    expect(report.sections[0]).toMatchObject({ granted: 20, maximum: 30, status: 'partial' })
    expect(report.sections[0]?.criteria[0]).toMatchObject({
      id: 'pubspec',
      granted: 0,
      reason: 'Failed to verify repository URL.',
      remedy: expect.stringContaining('defines `publish_to`'),
    })
  })

  it('keep the documentation of `dart doc` without anything executable', async () => {
    await using app = await testApp()
    const { docs, docsFailure } = await analyzeWithFakePana(app, {}, { docs: { folder: app.config.DATA_DIR } })
    expect({ docs, docsFailure }).toEqual({ docs: join(app.config.DATA_DIR, 'dartdoc.zip'), docsFailure: null })
    expect(statSync(docs ?? '').size).toBeGreaterThan(0)
    // Links lead to files outside the job's folder.
    const files = { 'tool/after_analysis.sh': 'rm -r docs; ln -s /etc docs' }
    const without = await analyzeWithFakePana(app, { name: 'undocumented', files }, { docs: { folder: app.config.DATA_DIR } })
    expect(without).toMatchObject({ docs: null, docsFailure: 'The job left no folder.' })
    expect(without.report.engine.name).toBe('pana')
  })

  it('expose no data of the server to the job and hide its paths and tokens in the log', async () => {
    await using app = await testApp()
    const script = 'env; cat "$HOME/.config/dart/pub-tokens.json"; echo; ls -a "$PWD"'
    const { log } = await analyzeWithFakePana(app, { files: attackFiles(script) })
    expect(log).toContain('{"version":1,"hosted":[{"url":"http://localhost:8080","token":"[token]"}]}')
    expect(log).toContain('HOME=[job]/home')
    expect(log.join('\n')).not.toContain(app.config.DATA_DIR)
    expect(log.join('\n')).not.toContain(app.config.JWT_SECRET)
  })
})

describe('failed analyses by pana', () => {
  it('reject an invalid report and log the reason', async () => {
    await using app = await testApp()
    const broken = analyzeWithFakePana(app, { files: { 'tool/report.json': 'Unhandled exception', ...attackFiles('echo broken') } })
    await expect(broken).rejects.toThrow('pana exited with code 0 without a report: broken')
    expect(jobs(app)).toEqual([])
  })

  it('end on a timeout or a cancellation', async () => {
    await using app = await testApp()
    const files = attackFiles('sleep 60')
    await expect(analyzeWithFakePana(app, { name: 'slow', files }, { seconds: 1 })).rejects.toThrow(
      'pana exceeded the time limit of 1 seconds.',
    )
    const signal = AbortSignal.timeout(300)
    await expect(analyzeWithFakePana(app, { name: 'unwanted', files }, { signal })).rejects.toThrow('The analysis was cancelled.')
    expect(jobs(app)).toEqual([])
  })

  it('reject the report of an SDK that was removed in the meantime', async () => {
    await using app = await testApp()
    const onLine = () => rmSync(join(app.config.DATA_DIR, 'sdks', 'dart', 'ready'), { force: true })
    await expect(analyzeWithFakePana(app, {}, { onLine })).rejects.toThrow('The SDK was removed or rebuilt while pana used it.')
  })

  it.each([
    ['Got socket error trying to find package http at https://pub.dev.', PanaFailed, /could not be fetched: Got socket error.* Check that/],
    ['Because judged depends on a_widget which requires the Flutter SDK, version solving failed.', AnalysisNeedsFlutter, /needs Flutter/],
  ])('blame the environment instead of the package for: %s', async (said, kind, message) => {
    await using app = await testApp()
    const summary = `### [x] 0/50 points: code has no errors\n\n* Running failed:\n\n\`\`\`\n${said}\n\`\`\`\n`
    const sections = recordedReport.report.sections.map((section) =>
      section.id === 'analysis' ? { ...section, grantedPoints: 0, summary } : section,
    )
    const report = JSON.stringify({ ...recordedReport, report: { sections } })
    const failure: unknown = await analyzeWithFakePana(app, { files: { 'tool/report.json': report } }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(kind)
    expect(String(failure)).toMatch(message)
  })
})

it('reports a missing SDK or Flutter SDK', async () => {
  await using app = await testApp()
  const judged = (name: string, pubspec: string) => analyzeWithFakePana(app, { name, pubspec }, { sdk: 'default' })
  await expect(judged('plain', '')).rejects.toThrow('No SDK is installed')
  await expect(judged('widgets', 'dependencies:\n  flutter:\n    sdk: flutter\n')).rejects.toThrow(AnalysisNeedsFlutter)
})

describe('the token of a job', () => {
  it('reads of a public package only what anonymous users may read when the report is public', async () => {
    await using app = await testApp()
    const member = await app.member()
    const hosted = (name: string) => `dependencies:\n  ${name}:\n    hosted: http://localhost:8080\n    version: any\n`
    await publish(member, { name: 'private_one', version: '1.0.0' })
    await publish(member, { name: 'needed', version: '1.0.0' })
    await publish(member, { name: 'needed', version: '2.0.0', pubspec: hosted('private_one') })
    await makePublic(app, 'needed')
    const grant = { packages: ['needed', 'private_one'], lifeMs: 60_000 }
    const versionsRead = async (isPublicOnly: boolean) =>
      withJobToken(app.services, { ...grant, isPublicOnly }, async (lent) => {
        const job = app.withToken(lent)
        const { body } = await job.get('/api/packages/needed')
        const versions = body.versions.map(({ version }: { version: string }) => version)
        return { versions, other: (await job.get('/api/packages/private_one')).status }
      })
    expect(await versionsRead(true)).toEqual({ versions: ['1.0.0'], other: 404 })
    expect(await versionsRead(false)).toEqual({ versions: ['1.0.0', '2.0.0'], other: 200 })
  })

  it('reads the packages that any version can depend on, including dev dependencies', async () => {
    await using app = await testApp()
    const hosted = (name: string) => `  ${name}:\n    hosted: http://localhost:8080\n    version: any\n`
    const member = await app.member()
    await publish(member, { name: 'deepest', version: '1.0.0' })
    await publish(member, { name: 'tested_with', version: '1.0.0', pubspec: `dev_dependencies:\n${hosted('unneeded')}` })
    for (const name of ['unneeded', 'unnamed']) await publish(member, { name, version: '1.0.0' })
    await publish(member, { name: 'needed', version: '1.0.0', pubspec: `dependencies:\n${hosted('deepest')}${hosted('judged')}` })
    await publish(member, { name: 'needed', version: '2.0.0' })
    const pubspec = `dependencies:\n${hosted('needed')}${hosted('unknown')}  unnamed: any\ndev_dependencies:\n${hosted('tested_with')}`
    await publish(member, { name: 'judged', version: '1.0.0', pubspec })
    const id = await versionOf(app, 'judged')
    expect(await readablePackages(app.services, id)).toEqual(['deepest', 'judged', 'needed', 'tested_with'])
    const config = { ...app.config, SDK_PUB_HOSTED_URL: app.config.SERVER_URL }
    expect(await readablePackages({ ...app.services, config }, id)).toContain('unnamed')
  })

  it.each([true, false])('is limited to public packages when the report is public: private %s', async (isPrivate) => {
    await using app = await testApp()
    const asked: Promise<{ is_for_anybody: boolean | number }[]>[] = []
    const onLine = () => void asked.push(app.services.database.reads.all('select is_for_anybody from job_tokens'))
    await analyzeWithFakePana(app, {}, { isPrivate, onLine })
    const [tokens] = await Promise.all(asked)
    expect(tokens?.map((row) => Boolean(row.is_for_anybody))).toEqual([!isPrivate])
  })

  it('reads only the packages it was issued for, as package clients do', async () => {
    await using app = await testApp()
    const member = await app.member()
    for (const name of ['needed', 'foreign']) await publish(member, { name, version: '1.0.0' })
    const secret = await withJobToken(app.services, { packages: ['needed'], isPublicOnly: false, lifeMs: 60_000 }, async (lent) => {
      const job = app.withToken(lent)
      const status = async (path: string) => (await job.get(path)).status
      expect(await status('/api/packages/needed')).toBe(200)
      expect(await status('/api/packages/needed/versions/1.0.0')).toBe(200)
      expect(await status('/api/archives/needed-1.0.0.tar.gz')).toBe(200)
      const refused = [
        '/api/packages/foreign',
        '/api/archives/foreign-1.0.0.tar.gz',
        '/api/package-names',
        '/api/packages',
        '/api/packages/needed/score',
        '/api/packages/needed/versions/1.0.0/score',
        '/api/packages/needed/options',
        '/api/packages/versions/new',
        '/api/packages/foreign/advisories',
        '/api/packages/needed%2f..%2fforeign',
        '/api/archives/needed-1.0.0.tar.gz%2f..%2fforeign-1.0.0.tar.gz',
        '/documentation/needed/latest/',
        '/api/auth/me',
        '/api/auth/keys',
        '/api/admin/users',
        '/api/admin/sdk/installs',
      ]
      for (const path of refused) expect([path, await status(path)]).toEqual([path, 401])
      expect((await job.graphql('{ viewer { email } }')).body.data?.viewer ?? null).toBeNull()
      expect((await job.put('/api/packages/needed/options', { isUnlisted: true })).status).toBe(401)
      const changes = [
        ['POST', '/api/auth/keys', { name: 'mine', scopes: ['read'] }],
        ['POST', '/api/admin/packages/needed/regenerate-docs', {}],
        ['PUT', '/api/packages/needed/versions/1.0.0/options', { isRetracted: true }],
        ['DELETE', '/api/admin/packages/needed', {}],
      ] as const
      for (const [method, path, body] of changes) expect([path, (await job.send(method, path, body)).status]).toEqual([path, 401])
      const mutation = 'mutation { createToken(input: { name: "mine", scopes: [READ] }) { secret } }'
      for (const text of [mutation, 'mutation { rescoreAllVersions }', '{ package(name: "needed") { name } }'])
        expect((await job.graphql(text)).body.data ?? null).toBeNull()
      app.clock.now = new Date(Date.now() + 61_000)
      expect(await status('/api/packages/needed')).toBe(401)
      app.clock.now = null
      return lent
    })
    expect((await app.withToken(secret).get('/api/packages/needed')).status).toBe(401)
    expect(await app.services.database.reads.all('select id from job_tokens')).toEqual([])
    expect(app.queries.some((sql) => sql.includes(secret))).toBe(false)
    // Downloads by an analysis are not counted.
    await writeDownloads(app)
    expect(await app.services.database.reads.all('select * from version_downloads')).toEqual([])
  })
})
