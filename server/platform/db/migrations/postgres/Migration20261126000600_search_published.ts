import { Migration } from '@mikro-orm/migrations'

// The time of a package's newest publication, for sorting. The server fills it when it starts (server/registry/search/rebuild.ts).
export class Migration20261126000600_search_published extends Migration {
  override up() {
    this.addSql('alter table "package_search_documents" add column "published_at" bigint not null default 0;')
    this.addSql('create index "package_search_documents_published" on "package_search_documents" ("published_at", "id");')
    this.addSql('create index "package_search_documents_public_published" on "package_search_documents" ("published_at", "id") where "shown_to" = 2;')
  }
}
