import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AnalysisTask, type Answer, archiveName, type PackageFacts } from '../../server/analysis/task.ts'
import { work } from '../../server/analysis/work.ts'
import { type ArchiveOptions, packageArchive } from './archive.ts'

/** What a registry knows of a package of which it knows nothing. */
export const noFacts = (name: string, version: string): PackageFacts => ({
  name,
  version,
  isPrivate: false,
  dependencies: {},
  packages: {},
  dart: null,
  now: '2026-01-01T00:00:00.000Z',
})

/** A pubspec with which nothing is wrong, and more lines. */
export const soundPubspec = (more = '') => `name: sound
version: 1.2.0
description: Reads the tides of all harbors, and says when to leave yours.
repository: https://github.com/harbor/sound
environment:
  sdk: ^3.0.0
${more}`

const license = `Permission is hereby granted, free of charge, to any person obtaining a copy …
The above copyright notice and this permission notice shall be included in all copies …`

const soundFiles = {
  LICENSE: license,
  'README.md': '# sound\n\n[Tides](https://example.com) ![](https://example.com/a.png)\n',
  'CHANGELOG.md': '## 1.2.0\n\n- Springs.\n',
  'example/main.dart': "import 'package:sound/sound.dart';\nvoid main() {}\n",
  'lib/sound.dart': '/// Tides of harbors.\nlibrary;\n\n/// When the water is highest.\nDateTime highWater() => DateTime.now();\n',
}

/** The archive of a package with which nothing is wrong, but for these files. */
export const soundPackage = (files: ArchiveOptions['files'] = {}) =>
  packageArchive({ name: 'sound', version: '1.2.0', manifest: soundPubspec(), files: { ...soundFiles, ...files } })

/** What is said of a package with which nothing is wrong, but for these changes. It takes no process. */
export async function analyzePackage(
  options: Partial<ArchiveOptions> = {},
  facts: Partial<PackageFacts> = {},
  earlier: AnalysisTask['earlier'] = null,
): Promise<Answer> {
  const folder = mkdtempSync(join(tmpdir(), 'analysis-'))
  try {
    const files = { ...soundFiles, ...options.files }
    const archive = await packageArchive({ name: 'sound', version: '1.2.0', manifest: soundPubspec(), ...options, files })
    writeFileSync(join(folder, archiveName), archive)
    return await work({ facts: { ...noFacts('sound', '1.2.0'), ...facts }, wantsDocs: false, earlier }, folder, () => {})
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The report of such a package. */
export async function reportFor(...args: Parameters<typeof analyzePackage>) {
  const answer = await analyzePackage(...args)
  if ('refused' in answer) throw new Error(answer.refused)
  return answer.report
}

/** A criterion of the report of such a package; undefined when it was not measured. */
export async function criterionFor(id: string, ...args: Parameters<typeof analyzePackage>) {
  const { sections } = await reportFor(...args)
  return sections.flatMap(({ criteria }) => criteria).find((criterion) => criterion.id === id)
}
