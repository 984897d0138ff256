import { constants, copyFile, link, rename, rm } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { AnalysisFailed } from './process/failure.ts'
import type { AnalysisProcess } from './process/start.ts'
import {
  type AnalysisResult,
  type AnalysisTask,
  type Answer,
  answerSchema,
  archiveName,
  docsName,
  type Question,
  type Usage,
} from './task.ts'

/** The result of a task, the memory of the process afterwards, and whether the process has ended. */
export type Outcome = (AnalysisResult | { refused: string; usage: Usage }) & { residentBytes: number; hasEnded: boolean }

/** Sends a task to a process and returns the result. @throws AnalysisFailed; the caller must then end the process. */
export async function exchange(process: AnalysisProcess, task: AnalysisTask): Promise<Outcome> {
  const { archive, facts, docs, earlier } = task
  const started = performance.now()
  const [own, pages] = [join(process.folder, archiveName), join(process.folder, docsName)]
  await provideArchive(archive, own)
  const question: Question = { facts, wantsDocs: docs !== null, earlier }
  const { answer, failure, peakBytes } = await process.ask(question)
  await rm(own)
  const read = parseAnswer(answer)
  const { cpuMs, residentBytes } = read
  const held = { residentBytes, hasEnded: failure !== null }
  const usage = { cpuMs, peakBytes: Math.max(peakBytes, read.peakBytes), ms: Math.round(performance.now() - started) }
  if ('refused' in read) return { refused: read.refused, usage, ...held }
  const { report, surface } = read
  const docsFailure = failure ?? read.docsFailure
  const path = docs && docsFailure === null ? await movePages(pages, docs.folder) : null
  return { report, surface, docs: path, docsFailure, usage, ...held }
}

function parseAnswer(answer: unknown): Answer {
  const { data, error } = answerSchema.safeParse(answer)
  if (!data) throw new AnalysisFailed('The analysis process returned an invalid result.', { cause: error })
  return data
}

/** Provides the archive in the process folder: as a hard link if possible, else as a copy. */
async function provideArchive(archive: string, own: string): Promise<void> {
  await rm(own, { force: true })
  try {
    await link(archive, own)
  } catch {
    await copyFile(archive, own, constants.COPYFILE_FICLONE).catch((cause: unknown) => {
      throw new AnalysisFailed('The archive could not be read from the storage.', { isTransient: true, cause })
    })
  }
}

/** Moves the documentation pages to the caller's folder and returns their path. */
async function movePages(pages: string, folder: string): Promise<string> {
  const path = join(folder, `${randomUUID()}.pages`)
  try {
    await rename(pages, path).catch(() => copyFile(pages, path))
    return path
  } catch (cause) {
    await rm(path, { force: true })
    throw new AnalysisFailed('The pages of the documentation could not be stored.', { isTransient: true, cause })
  } finally {
    await rm(pages, { force: true })
  }
}
