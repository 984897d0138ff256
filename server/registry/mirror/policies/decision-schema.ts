import { UserRef } from '../../../accounts/users/refs.ts'
import { loadUser } from '../../../accounts/users/service.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import { notNegative, partOf } from '../../../platform/graphql/connections.ts'
import { connectionOf, wordEnum } from '../../../platform/graphql/payload.ts'
import { countEffects, type Effect, listDecisions, type Outcome } from '../decisions.ts'
import type { MirrorDecision } from '../entity.ts'
import { requireUpstream } from './service.ts'

const OutcomeEnum = wordEnum<Outcome>('MirrorOutcome', 'Outcome of a decision of the mirror.', {
  refused: 'A policy refused the request.',
  audited: 'A policy in audit mode would have refused the request.',
  fault: 'The upstream server sent something unusable.',
})

const ruleText =
  'The policy: `packages`, `advisories`, `licenses` or `minimumAge`; or the kind of fault, such as `listing`, `document`, `archive` or `changed_archive`.'

const DecisionRef = builder.objectRef<MirrorDecision>('MirrorDecision').implement({
  description:
    'A decision of a policy of the mirror, or a fault of the upstream server. Equal decisions are counted, and deleted after 90 days.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    outcome: t.expose('outcome', { type: OutcomeEnum, description: 'The outcome.' }),
    rule: t.exposeString('rule', { description: ruleText }),
    packageName: t.exposeString('packageName', { description: 'Name of the upstream package.' }),
    version: t.string({
      nullable: true,
      description: 'The version; null if the decision concerns the whole package.',
      resolve: ({ version }) => version || null,
    }),
    reason: t.exposeString('reason', { description: 'The reason, as package clients print it.' }),
    user: t.field({
      type: UserRef,
      nullable: true,
      description: 'Who requested it; null for requests without signing in, and for faults.',
      resolve: ({ user }, _args, context) => (user ? loadUser(context, user.id) : null),
    }),
    count: t.exposeInt('count', { description: 'Number of requests.' }),
    firstAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was first requested.' }),
    lastAt: t.expose('lastAt', { type: 'DateTime', description: 'When it was last requested.' }),
  }),
})

const EffectRef = builder.objectRef<Effect>('MirrorPolicyEffect').implement({
  description: 'Decisions of a rule with the same outcome, in numbers.',
  fields: (t) => ({
    rule: t.exposeString('rule', { description: ruleText }),
    outcome: t.expose('outcome', { type: OutcomeEnum, description: 'The outcome.' }),
    requests: t.exposeInt('requests', { description: 'Number of requests, including earlier ones with the same decision.' }),
    packages: t.exposeInt('packages', { description: 'Number of packages.' }),
    people: t.exposeInt('people', { description: 'Number of users. Requests without signing in are not counted.' }),
  }),
})

builder.queryFields((t) => ({
  mirrorDecisions: t.withAuth({ scope: 'admin' }).connection(
    {
      type: DecisionRef,
      description:
        'Decisions of the policies of the mirror and faults of the upstream server, most recently repeated first. For administrators.',
      args: {
        rule: t.arg.string({ description: ruleText, extensions: { maxLength: 32 } }),
        outcome: t.arg({ type: OutcomeEnum, description: 'Only decisions with this outcome.' }),
        query: t.arg.string(partOf('Part of the package name.', 'q')),
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, { query, ...args }, context) => {
        requireUpstream(context)
        return listDecisions(context.em, { ...args, q: query }, args)
      },
    },
    connectionOf(DecisionRef),
  ),
  mirrorPolicyEffects: t.withAuth({ scope: 'admin' }).field({
    type: [EffectRef],
    extensions: { size: 8 },
    description: 'Decisions of the mirror in the last 30 days in numbers, by rule and outcome. For administrators.',
    resolve: (_root, _args, context) => {
      requireUpstream(context)
      return countEffects(context)
    },
  }),
}))
