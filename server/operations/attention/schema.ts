import { builder } from '../../platform/graphql/builder.ts'
import { wordEnum } from '../../platform/graphql/payload.ts'
import { type AttentionItem, attentionKinds } from './items.ts'
import { findAttention } from './service.ts'

const Kind = wordEnum('AttentionKind', 'What needs the attention of an administrator.', attentionKinds)

const SeverityEnum = wordEnum('AttentionSeverity', 'How urgent an item is.', {
  error: 'Needs action now.',
  warning: 'Needs action soon.',
  info: 'A recommendation.',
})

const ItemRef = builder.objectRef<AttentionItem>('AttentionItem').implement({
  description: 'Something that an administrator should look at.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    kind: t.expose('kind', { type: Kind, description: 'What it is.' }),
    severity: t.expose('severity', { type: SeverityEnum, description: 'How urgent it is.' }),
    count: t.exposeInt('count', { description: 'How many things it is about, such as failed jobs.' }),
    at: t.expose('at', { type: 'DateTime', nullable: true, description: 'When it happened, or when it is due; null if unknown.' }),
    text: t.exposeString('text', { description: 'A sentence for people. May change; scripts use `kind` and `count`.' }),
  }),
})

builder.queryField('attention', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: [ItemRef],
    extensions: { size: 20, cost: 20 },
    description:
      'What needs the attention of an administrator, the most urgent first; empty if nothing does. Suitable for polling by a monitoring system. For administrators.',
    resolve: (_root, _args, context) => findAttention(context),
  }),
)
