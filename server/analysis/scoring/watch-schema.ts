import type { Context } from '../../platform/access/context.ts'
import { canBrowse } from '../../platform/access/policy.ts'
import { loadDocs } from '../docs/service.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { watch } from '../../platform/graphql/subscriptions.ts'
import type { PackageVersion } from '../../registry/packages/entity.ts'
import { PackageVersionRef } from '../../registry/packages/refs.ts'
import { findPackage } from '../../registry/packages/service.ts'
import { findVersion } from '../../registry/packages/versions/service.ts'
import { type Score, scoreOf } from './status.ts'

type Watched = { of: PackageVersion; score: Score; docs: string }

const isInProgress = (state: string) => state === 'pending' || state === 'running'

builder.subscriptionField('versionScoreChanged', (t) =>
  t.field({
    skipTypeScopes: true,
    authScopes: { browse: true },
    type: PackageVersionRef,
    description:
      'Returns a version now and whenever the state of its score or API documentation changes, until both are final. For callers who may read the version.',
    args: {
      package: t.arg.string({ required: true, description: 'Name of the package.' }),
      version: t.arg({ type: 'SemVer', required: true, description: 'Version number.' }),
    },
    subscribe: (_root, args, context) =>
      watch<Watched>(context, {
        permits: canBrowse,
        read: (reader) => readState(reader, args.package, args.version),
        tag: ({ score, docs }) => [score.status, score.error, score.finishedAt?.getTime(), score.awaitsPana, docs].join(' '),
        isLast: ({ score, docs }) => !isInProgress(score.status) && !score.awaitsPana && !isInProgress(docs),
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
