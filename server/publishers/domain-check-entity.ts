import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Publisher } from './entity.ts'

/** What is known of the TXT record that verifies a publisher. It is looked up again every week. */
export const DomainCheck = defineEntity({
  name: 'DomainCheck',
  tableName: 'domain_checks',
  properties: {
    publisher: () => p.manyToOne(Publisher).deleteRule('cascade').primary(),
    /** What the record has to show. Null for a publisher that was verified before this was kept: then any record of this server's kind counts. */
    token: p.string().length(64).nullable(),
    /** When the DNS last gave an answer. */
    checkedAt: p.datetime(3).nullable(),
    dueAt: p.datetime(3).index(),
    /** How often in a row the record was missing. */
    misses: p.integer().default(0),
    /** Since when the publisher is no longer verified, and why. */
    lostAt: p.datetime(3).nullable(),
    problem: p.string().length(500).nullable(),
  },
})
export type DomainCheck = InferEntity<typeof DomainCheck>
