import { Migration } from '@mikro-orm/migrations'

// Search documents for users who may see only some versions of a package. The server fills the table when it starts (server/search/rebuild.ts).
// `package_id` has no foreign key, which would lock the package after its document. Changes of a package lock them in the opposite order.
export class Migration20261124000002_search_excerpts extends Migration {
  override up() {
    this.addSql('create table "package_search_excerpts" ("id" bigint primary key references "package_search_documents" ("id") on delete cascade, "package_id" uuid not null unique, "created_at" bigint not null, "updated_at" bigint not null, "downloads" bigint not null default 0, "score" smallint not null default -1, "tags" text not null);')
    this.addSql('create table "package_search_excerpts_brief" ("id" bigint primary key references "package_search_excerpts" ("id") on delete cascade, "terms" tsvector not null);')
    this.addSql('create index "package_search_excerpts_brief_terms" on "package_search_excerpts_brief" using gin ("terms") with (fastupdate = off);')
    this.addSql('create table "package_search_excerpts_full" ("id" bigint primary key references "package_search_excerpts" ("id") on delete cascade, "terms" tsvector not null) with (toast_tuple_target = 128);')
    this.addSql('create index "package_search_excerpts_full_terms" on "package_search_excerpts_full" using gin ("terms") with (fastupdate = off);')
  }
}
