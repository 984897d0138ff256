import type { Context } from '../access/context.ts'
import { canBrowse } from '../access/policy.ts'
import { loadDocs } from '../docs/service.ts'
import { builder } from '../graphql/builder.ts'
import { watch } from '../graphql/subscriptions.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { PackageVersionRef } from '../packages/refs.ts'
import { findPackage } from '../packages/service.ts'
import { findVersion } from '../packages/versions/service.ts'
import { type Score, scoreOf } from './status.ts'

type Watched = { of: PackageVersion; score: Score; docs: string }

const isUnderWay = (state: string) => state === 'pending' || state === 'running'

builder.subscriptionField('versionScoreChanged', (t) =>
  t.field({
    skipTypeScopes: true,
    authScopes: { browse: true },
    type: PackageVersionRef,
    description:
      'A version, and again whenever the state of its score or of its API documentation changes; until both are settled. For whoever may read it.',
    args: {
      package: t.arg.string({ required: true, description: 'Name of its package.' }),
      version: t.arg({ type: 'SemVer', required: true, description: 'Which version.' }),
    },
    subscribe: (_root, args, context) =>
      watch<Watched>(context, {
        permits: canBrowse,
        read: (reader) => readState(reader, args.package, args.version),
        tag: ({ score, docs }) => [score.status, score.error, score.finishedAt?.getTime(), score.awaitsPana, docs].join(' '),
        isLast: ({ score, docs }) => !isUnderWay(score.status) && !score.awaitsPana && !isUnderWay(docs),
        missing: 'There is no such version on this server.',
      }),
    resolve: ({ value }) => value.of,
  }),
)

async function readState(context: Context, name: string, version: string): Promise<Watched | null> {
  const pkg = await findPackage(context, name)
  const of = pkg && (await findVersion(context, pkg, version))
  if (!of) return null
  return { of, score: await scoreOf(context, of.id), docs: (await loadDocs(context, of.id))?.state ?? 'none' }
}
