import type { Context } from '../access/context.ts'
import { builder } from './builder.ts'
import { maxCost } from './cost.ts'

const RateLimit = builder.objectRef<NonNullable<Context['query']>>('RateLimit').implement({
  description: 'Your rate limit for queries, and the cost of this query.',
  fields: (t) => ({
    limit: t.int({ description: 'Maximum number of queries per minute.', resolve: ({ bucket }) => bucket.limit }),
    remaining: t.int({ description: 'Number of queries left after this one.', resolve: ({ bucket }) => bucket.remaining }),
    resetAt: t.field({ type: 'DateTime', description: 'Time when the limit is fully reset.', resolve: ({ bucket }) => bucket.resetAt }),
    cost: t.exposeInt('cost', {
      description: 'Cost of this query, as in `extensions.cost`: about one point per resolved field.',
    }),
    maxCost: t.int({ description: 'Maximum cost of a query.', resolve: () => maxCost }),
  }),
})

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimit,
    nullable: true,
    description: 'Your rate limit for queries, counted per account, or per client address if you are not signed in.',
    skipTypeScopes: true,
    resolve: (_root, _args, { query }) => query ?? null,
  }),
)
