import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000078_scoring extends Migration {
  override up() {
    this.addSql('alter table "jobs" add "priority" int not null default 0;')
    this.addSql('create index "jobs_kind_state_priority_run_at_id_index" on "jobs" ("kind", "state", "priority", "run_at", "id");')
    this.addSql(`create table "score_reports" ("version_id" uuid not null, "runs" int not null default 0, "generation" int not null default 0, "started_at" timestamptz(3) null, "finished_at" timestamptz(3) null, "engine" varchar(16) null, "engine_version" varchar(64) null, "granted" int null, "maximum" int null, "percent" int null, "report" text null, "tags" text not null default '', "error" varchar(1000) null, "log" text null, primary key ("version_id"));`)
    this.addSql('create table "version_surfaces" ("version_id" uuid not null, "surface" bytea not null, primary key ("version_id"));')
    this.addSql(`create table "scoring_log" ("id" uuid not null, "created_at" timestamptz(3) not null, "level" text check ("level" in ('info', 'warning', 'error')) not null, "package" varchar(64) null, "version" varchar(64) null, "message" varchar(1000) not null, primary key ("id"));`)
    this.addSql('alter table "score_reports" add constraint "score_reports_version_id_foreign" foreign key ("version_id") references "package_versions" ("id") on update cascade on delete cascade;')
    this.addSql('alter table "version_surfaces" add constraint "version_surfaces_version_id_foreign" foreign key ("version_id") references "package_versions" ("id") on update cascade on delete cascade;')
    this.addSql('alter table "package_search_documents" add "score" smallint not null default -1;')
    this.addSql('create index "package_search_documents_score" on "package_search_documents" ("score", "id");')
    this.addSql('create index "package_search_documents_public_score" on "package_search_documents" ("score", "id") where "shown_to" = 2;')
  }
}
