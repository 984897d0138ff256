import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Publisher } from './entity.ts'

/** State of the TXT record that verifies a publisher. The record is checked every week. */
export const DomainCheck = defineEntity({
  name: 'DomainCheck',
  tableName: 'domain_checks',
  properties: {
    publisher: () => p.manyToOne(Publisher).deleteRule('cascade').primary(),
    /** Token that the record must contain. Null for publishers verified before this column existed; then any well-formed token is accepted. */
    token: p.string().length(64).nullable(),
    /** When the DNS last returned an answer. */
    checkedAt: p.datetime(3).nullable(),
    dueAt: p.datetime(3).index(),
    /** Number of consecutive checks in which the record was missing. */
    misses: p.integer().default(0),
    /** When the publisher lost its verification; `problem` is the reason. Both are null while it is verified. */
    lostAt: p.datetime(3).nullable(),
    problem: p.string().length(500).nullable(),
  },
})
export type DomainCheck = InferEntity<typeof DomainCheck>
