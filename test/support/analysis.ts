import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AnalysisTask, type Answer, archiveName, type PackageFacts } from '../../server/analysis/report/task.ts'
import { work } from '../../server/analysis/report/work.ts'
import { type ArchiveOptions, packageArchive } from './archive.ts'

/** Facts about a package without dependencies, for a registry without other packages or SDKs. */
export const noFacts = (name: string, version: string): PackageFacts => ({
  name,
  version,
  isPrivate: false,
  dependencies: {},
  packages: {},
  dart: null,
  now: '2026-01-01T00:00:00.000Z',
})

/** Returns a pubspec that passes all checks, followed by `more` lines. */
export const soundPubspec = (more = '') => `name: sound
version: 1.2.0
description: Reads the tides of all harbors, and shows when to leave yours.
repository: https://github.com/harbor/sound
environment:
  sdk: ^3.0.0
${more}`

const license = `Permission is hereby granted, free of charge, to any person obtaining a copy …
The above copyright notice and this permission notice shall be included in all copies …`

const soundFiles = {
  LICENSE: license,
  'README.md': `# sound\n\n[Tides](https://example.com) ![](https://example.com/a.png)\n\n${'Shows the water of every harbor. '.repeat(20)}\n\n## Usage\n\n    print(highWater());\n`,
  'CHANGELOG.md': '## 1.2.0\n\n- Springs.\n',
  'example/main.dart': "import 'package:sound/sound.dart';\nvoid main() {\n  print(highWater());\n  print(highWater());\n}\n",
  'lib/sound.dart': '/// Tides of harbors.\nlibrary;\n\n/// When the water is highest.\nDateTime highWater() => DateTime.now();\n',
}

/** Returns the archive of a package that passes all checks, with these files added or replaced. */
export const soundPackage = (files: ArchiveOptions['files'] = {}) =>
  packageArchive({ name: 'sound', version: '1.2.0', manifest: soundPubspec(), files: { ...soundFiles, ...files } })

/** Analyzes a package that passes all checks, with these changes, in this process. */
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

/** Analyzes a package as `analyzePackage` does and returns its report. */
export async function reportFor(...args: Parameters<typeof analyzePackage>) {
  const answer = await analyzePackage(...args)
  if ('refused' in answer) throw new Error(answer.refused)
  return answer.report
}

/** Analyzes a package as `analyzePackage` does and returns a criterion of its report. Returns undefined if the criterion was not measured. */
export async function criterionFor(id: string, ...args: Parameters<typeof analyzePackage>) {
  const { sections } = await reportFor(...args)
  return sections.flatMap(({ criteria }) => criteria).find((criterion) => criterion.id === id)
}
