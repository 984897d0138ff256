import type { Context } from '../access/context.ts'
import { builder } from './builder.ts'
import { maxCost } from './cost.ts'

const RateLimit = builder.objectRef<NonNullable<Context['query']>>('RateLimit').implement({
  description: 'How many queries you may still send, and what this one costs.',
  fields: (t) => ({
    limit: t.int({ description: 'How many queries you may send in a minute.', resolve: ({ bucket }) => bucket.limit }),
    remaining: t.int({ description: 'How many of them are left after this one.', resolve: ({ bucket }) => bucket.remaining }),
    resetAt: t.field({ type: 'DateTime', description: 'When all of them are back.', resolve: ({ bucket }) => bucket.resetAt }),
    cost: t.exposeInt('cost', {
      description: 'What this query costs, as in `extensions.cost`: about one for each field that is resolved.',
    }),
    maxCost: t.int({ description: 'What one query may cost.', resolve: () => maxCost }),
  }),
})

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimit,
    nullable: true,
    description: 'What you have left of your limit on queries. It is counted by account, or by address without one.',
    skipTypeScopes: true,
    resolve: (_root, _args, { query }) => query ?? null,
  }),
)
