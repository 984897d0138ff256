import { builder } from '../../platform/graphql/builder.ts'
import type { Context } from '../../platform/access/context.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { dimensionsOf, type Dimensions } from '../files/dimensions.ts'
import { readPackageFile } from '../files/service.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { ofPublicVersion, PackageVersionRef } from '../packages/refs.ts'
import { pubspecOf } from '../packages/versions/pubspec.ts'

type Screenshot = { version: PackageVersion; path: string; description: string }

/** Bytes at the start of an image that are searched for its dimensions. JPEGs may begin with a color profile and a preview. */
const headerBytes = 256 * 1024

const ScreenshotRef = builder.objectRef<Screenshot>('Screenshot').implement({
  description: 'A picture of a package, from the field `screenshots` of its pubspec.',
  fields: (t) => ({
    description: t.exposeString('description', { ...ofPublicVersion, description: 'What the picture shows.' }),
    path: t.exposeString('path', { ...ofPublicVersion, description: 'Path in the archive.' }),
    url: t.field({
      ...ofPublicVersion,
      type: 'URL',
      description: 'URL of the picture.',
      resolve: (screenshot, _args, context) => addressOf(context, 'raw', screenshot),
    }),
    thumbnailUrl: t.field({
      ...ofPublicVersion,
      type: 'URL',
      description: 'URL of the picture as WebP, at most 480 pixels wide and high. SVGs stay SVGs.',
      resolve: (screenshot, _args, context) => addressOf(context, 'thumbnails', screenshot),
    }),
    width: t.int({
      ...ofPublicVersion,
      nullable: true,
      extensions: { cost: 3 },
      description: 'Width in pixels; null if the file is not a supported raster image.',
      resolve: async (screenshot, _args, context) => (await sizeOf(context, screenshot))?.width ?? null,
    }),
    height: t.int({
      ...ofPublicVersion,
      nullable: true,
      extensions: { cost: 3 },
      description: 'Height in pixels; null if the file is not a supported raster image.',
      resolve: async (screenshot, _args, context) => (await sizeOf(context, screenshot))?.height ?? null,
    }),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  thumbnailUrl: t.field({
    ...ofPublicVersion,
    type: 'URL',
    nullable: true,
    description: 'URL of a small thumbnail of the first screenshot, for lists; null without screenshots.',
    resolve: (version, _args, context) => {
      const [first] = pubspecOf(version).screenshots
      return first ? `${addressOf(context, 'thumbnails', { version, ...first })}?size=small` : null
    },
  }),
  screenshots: t.field({
    ...ofPublicVersion,
    type: [ScreenshotRef],
    extensions: { size: 10 },
    description: 'Pictures of the package, at most 10.',
    resolve: (version) =>
      pubspecOf(version)
        .screenshots.slice(0, 10)
        .map((screenshot) => ({ version, ...screenshot })),
  }),
}))

function addressOf({ request, config }: Context, route: string, { version, path }: Screenshot): string {
  const names = [pubspecOf(version).name, version.version, ...path.split('/')]
  return `${publicUrl(request, config.SERVER_URL)}/${route}/${names.map(encodeURIComponent).join('/')}`
}

function sizeOf(context: Context, screenshot: Screenshot): Promise<Dimensions | null> {
  let size = sizes.get(screenshot)
  if (!size) sizes.set(screenshot, (size = readSize(context, screenshot)))
  return size
}
const sizes = new WeakMap<Screenshot, Promise<Dimensions | null>>()

async function readSize(context: Context, { version, path }: Screenshot): Promise<Dimensions | null> {
  const found = await readPackageFile(context, version, path, headerBytes)
  return found && dimensionsOf(found.content, found.file.mediaType)
}
