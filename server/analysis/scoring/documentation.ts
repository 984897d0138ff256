import type { EntityManager } from '@mikro-orm/sql'
import { recordEvents } from '../../accounts/audit/service.ts'
import { beginAttempt, type DocsEngine } from '../docs/service.ts'
import { storePages } from '../docs/store.ts'
import type { Services } from '../../services.ts'
import type { Subject } from './facts.ts'
import { writeLog } from './log.ts'

export type GeneratedDocs = {
  subject: Subject
  /** Path of the packed pages. */
  docs: string
  engine: DocsEngine
  /** Number of the documentation attempt. A new attempt is started if omitted. */
  attempt?: number
}

/** Stores generated documentation of a version, with audit and log entries. Does nothing if the version was deleted or has newer pages. */
export async function storeDocs(services: Services, versionId: string, { subject, docs, engine, attempt }: GeneratedDocs): Promise<void> {
  const { name, version } = subject.facts
  const inSameTransaction = async (em: EntityManager) => {
    const summary = `API documentation of ${name} ${version} was generated`
    await recordEvents(em, [{ kind: 'package.docs_generated', actor: null, summary, package: name, version }])
    await writeLog(em, { level: 'info', package: name, version, message: `documentation generated (${engine.name} ${engine.version})` })
  }
  const number = attempt ?? (await beginAttempt(services.database.fork(), versionId))
  await storePages(services, versionId, { attempt: number, file: docs, engine, inSameTransaction })
}
