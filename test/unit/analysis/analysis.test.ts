import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { type AnalysisTask, openAnalyzer } from '../../../server/analysis/report/analyze.ts'
import { pointsOf } from '../../../server/analysis/report/report.ts'
import { noFacts, soundPackage, soundPubspec } from '../../support/analysis.ts'
import { packageArchive } from '../../support/archive.ts'
import { tarEnd, tarEntry } from '../../support/tar.ts'
import { readIndex } from '../../../server/analysis/api-pages/pack.ts'

/** Opens an analyzer that runs in its own process, as on the server. */
function realAnalyzer() {
  const folder = mkdtempSync(join(tmpdir(), 'analysis-'))
  const analyzer = openAnalyzer({ makeFolder: () => mkdtemp(join(folder, 'process-')) })
  const archive = join(folder, 'any.tar.gz')
  return {
    folder,
    analyze(content: Buffer, more: Partial<AnalysisTask> = {}) {
      writeFileSync(archive, content)
      return analyzer.analyze({ archive, facts: noFacts('sound', '1.2.0'), docs: null, earlier: null, ...more })
    },
    async [Symbol.asyncDispose]() {
      await analyzer.close()
      await rm(folder, { recursive: true })
    },
  }
}

it('analyzes a package and packs its documentation pages', async () => {
  await using engine = realAnalyzer()
  const { report, docs, docsFailure, usage } = await engine.analyze(await soundPackage(), { docs: { folder: engine.folder } })
  expect(pointsOf(report)).toMatchObject({ granted: pointsOf(report).maximum })
  expect(report.documented).toEqual({ documented: 2, total: 2 })
  expect(docsFailure).toBeNull()
  const path = docs ?? ''
  const pages = await readIndex(statSync(path).size, async ({ start, end }) => readFileSync(path).subarray(start, end + 1))
  expect([...pages.keys()]).toContain('*libraries')
  expect(usage.cpuMs).toBeLessThan(1000)
  expect(usage.peakBytes).toBeLessThan(200 * 1024 ** 2)
})

it('fails with the reason for an unreadable archive, and keeps the process running', async () => {
  await using engine = realAnalyzer()
  const manifest = tarEntry({ name: 'pubspec.yaml' }, soundPubspec())
  const unreadable: [Buffer, RegExp][] = [
    [Buffer.from('not gzip at all'), /^The archive cannot be read: .*gzip/],
    [gzipped(manifest, tarEntry({ name: 'lib', type: '2', link: '/etc' })), /symlink/],
    [gzipped(tarEntry({ name: '../lib/a.dart' }, 'int a = 1;')), /\.\./],
    [gzipped(tarEntry({ name: 'README.md' }, '# A')), /pubspec\.yaml/],
  ]
  for (const [archive, reason] of unreadable) await expect(engine.analyze(archive)).rejects.toThrow(reason)
  expect((await engine.analyze(await soundPackage())).usage.cpuMs).toBeGreaterThan(0)
})

it('analyzes the other files of a package with files that exhaust the parser', async () => {
  await using engine = realAnalyzer()
  const sources = {
    'lib/brackets.dart': '('.repeat(30_000),
    'lib/generics.dart': `typedef A = ${'List<'.repeat(10_000)}int${'>'.repeat(10_000)};`,
    'lib/classes.dart': 'class A { void f() { '.repeat(5000),
    'lib/strings.dart': `var a = '${"${'".repeat(10_000)}`,
    'lib/comments.dart': '/*'.repeat(500_000),
    'lib/large.dart': 'int f() => 1;\n'.repeat(700_000),
    'README.md': '['.repeat(20_000),
  }
  const { report } = await engine.analyze(await soundPackage(sources))
  expect(report.documented?.documented).toBe(2)
  expect(report.notes.join('\n')).toContain('Too large to be read: `lib/large.dart`')
})

it('skips binary files, and reads the remaining code of sources with unbalanced brackets', async () => {
  await using engine = realAnalyzer()
  // All byte values, as in an image or executable.
  const noise = Buffer.from(Array.from({ length: 2_000_000 }, (_, index) => (index * 7919 + (index >> 8) * 104_729) % 256))
  const sources = {
    'lib/noise.dart': noise,
    'lib/utf16.dart': Buffer.from('int wide() => 1;\n'.repeat(20), 'utf16le'),
    'lib/latin1.dart': Buffer.from('/// Größer.\nint larger() => 2;\n', 'latin1'),
    'lib/bracket.dart': 'var list = [};\nint after() => 3;\n',
    'lib/few.dart': '�i�\u0018[}���h�{_�\u001e�4��C'.replaceAll('�', '~'),
  }
  const { report } = await engine.analyze(await soundPackage(sources))
  expect(report.notes).toContainEqual('Not text: `lib/noise.dart`, `lib/utf16.dart`. Their API is missing here.')
  expect(report.notes).toContainEqual(expect.stringMatching(/^Some code in 2 files could not be parsed: `bracket\.dart`, `few\.dart`/))
  // One declaration of the package, one from the Latin-1 file, and its library.
  expect(report.documented?.documented).toBe(3)
})

it('fails with a transient error if the storage does not have the archive', async () => {
  await using engine = realAnalyzer()
  await expect(
    engine.analyze(await packageArchive({ name: 'a', version: '1.0.0' }), { archive: join(engine.folder, 'gone') }),
  ).rejects.toMatchObject({
    isTransient: true,
  })
})

const gzipped = (...parts: Buffer[]) => gzipSync(Buffer.concat([...parts, tarEnd]))
