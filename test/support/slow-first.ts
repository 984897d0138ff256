import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest. Started last, they would run alone while other cores are idle. */
const slowFiles = [
  'e2e/every-page',
  'faults/proxies',
  'faults/analyses-killed',
  'faults/backup-killed',
  'faults/outages',
  'faults/sdks',
  'e2e/account',
  'e2e/deletion',
  'e2e/help',
  'e2e/sign-in',
  'e2e/sdks',
  'unit/blobs/s3-silence',
]

/** Runs the slowest files of each group of projects first, and then as usual. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rankOf = ({ moduleId }: TestSpecification) => {
      const index = slowFiles.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
      return index === -1 ? slowFiles.length : index
    }
    const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder
    return sorted.toSorted((a, b) => groupOf(a) - groupOf(b) || rankOf(a) - rankOf(b))
  }
}
