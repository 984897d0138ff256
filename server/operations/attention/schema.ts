import { builder } from '../../platform/graphql/builder.ts'
import { wordEnum } from '../../platform/graphql/payload.ts'
import { type AttentionItem, attentionKinds, type AttentionCheck, type Severity, type Watched } from './items.ts'
import { checkInvitations, checkJobs, checkMirror, checkNames, checkSdks, checkSecrets } from './registry-checks.ts'
import { checkEndlessTokens, checkFactors, checkIssuerClocks, checkIssuerKeys, checkProviders, checkTokens } from './sign-in-checks.ts'
import { findAddressItems, findArchiveItems, checkBackups, checkComponents, checkDisk, checkSettings } from './server-checks.ts'

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

/** All checks, the most important ones first. */
const checks: readonly AttentionCheck[] = [
  checkComponents,
  checkDisk,
  findArchiveItems,
  checkBackups,
  checkJobs,
  checkSdks,
  checkMirror,
  checkProviders,
  checkIssuerKeys,
  checkIssuerClocks,
  checkNames,
  checkTokens,
  findAddressItems,
  checkSettings,
  checkSecrets,
  checkFactors,
  checkEndlessTokens,
  checkInvitations,
]

const order: readonly Severity[] = ['error', 'warning', 'info']

/** Returns what needs the attention of an administrator, the most urgent first. A check that fails is logged and left out. */
async function findAttention(watched: Watched): Promise<AttentionItem[]> {
  const found = await Promise.all(
    checks.map((check) =>
      check(watched).catch((error: unknown) => {
        watched.log.warning(`attention: a check failed: ${String(error)}`)
        return []
      }),
    ),
  )
  return found.flat().toSorted((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity))
}
